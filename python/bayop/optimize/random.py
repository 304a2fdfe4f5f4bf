"""Random search: the floor that every other optimizer must beat."""

from __future__ import annotations

import numpy as np

from bayop.optimize.base import Finished, Observation, Prediction, Problem, Proposal
from bayop.optimize.measured import best_measured
from bayop.space import Setting


class RandomSearch:
    """Tries settings in a random order, each once.

    Args:
        problem: What to search for.
        seed: The same seed gives the same order.
    """

    def __init__(self, problem: Problem, *, seed: int) -> None:
        self._problem = problem
        settings = problem.space.settings()
        order = np.random.default_rng(seed).permutation(len(settings))
        self._queue = [settings[i] for i in reversed(order)]
        self._observations: list[Observation] = []

    def ask(self, trials_left: int) -> Proposal | Finished:  # noqa: ARG002 -- the contract's signature
        """The next setting of the random order."""
        return Proposal(self._queue.pop()) if self._queue else Finished("exhausted")

    def tell(self, observation: Observation) -> None:
        """Remembers the trial."""
        self._observations.append(observation)

    def incumbent(self) -> Setting | None:
        """The best setting measured so far."""
        return best_measured(self._observations, self._problem)

    def predict(self, setting: Setting) -> Prediction | None:  # noqa: ARG002 -- the contract's signature
        """None: there is no model."""
        return None
