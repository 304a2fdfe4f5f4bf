"""Random search: the floor that every other optimizer must beat."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from bayop.optimize.base import Problem
from bayop.optimize.measured import MeasuredSearch
from bayop.space import Setting


class RandomSearch(MeasuredSearch):
    """Tries settings in a random order, each once.

    Args:
        problem: What to search for.
        seed: The same seed gives the same order.
    """

    def __init__(self, problem: Problem, *, seed: int) -> None:
        super().__init__(problem)
        self._values = {knob.id: knob.values() for knob in problem.space.knobs}
        self._rng = np.random.default_rng(seed)

    def choose(self, trials_left: int) -> Setting:  # noqa: ARG002 -- the contract's signature
        """An untried setting, each with the same probability where every knob matters in each.

        Drawn until an untried one turns up, never listed and shuffled: six knobs have more settings than memory.
        """
        while True:
            setting = {k: values[self._rng.integers(len(values))] for k, values in self._values.items()}
            in_effect = self.problem.space.in_effect(MappingProxyType(setting))
            if not self.was_tried(in_effect):
                return in_effect
