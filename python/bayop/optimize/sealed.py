"""No exception of a library leaves an optimizer: whoever searches on a live machine is told in this project's words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bayop.errors import BayopError
from bayop.optimize.base import Finished, Follower, Observation, Optimizer, Prediction, Proposal, to_hold
from bayop.space import Setting


class SealedOptimizer:
    """An optimizer whose every failure is a `BayopError`.

    Args:
        name: What people call it.
        optimizer: The one that does the work.
    """

    def __init__(self, name: str, optimizer: Optimizer) -> None:
        self._name, self._optimizer = name, optimizer

    def ask(self, trials_left: int) -> Proposal | Finished:
        """As `Optimizer.ask`."""
        with sealed(self._name):
            return self._optimizer.ask(trials_left)

    def tell(self, observation: Observation) -> None:
        """As `Optimizer.tell`."""
        with sealed(self._name):
            self._optimizer.tell(observation)

    def incumbent(self) -> Setting | None:
        """As `Optimizer.incumbent`."""
        with sealed(self._name):
            return self._optimizer.incumbent()

    def predict(self, setting: Setting) -> Prediction | None:
        """As `Optimizer.predict`."""
        with sealed(self._name):
            return self._optimizer.predict(setting)

    def polish(self, held: Setting | None) -> Setting | None:
        """As `Polisher.polish`; the incumbent of an optimizer that does not polish."""
        with sealed(self._name):
            return to_hold(self._optimizer, held)

    def follow(self, held: Setting) -> Setting | None:
        """As `Follower.follow`; None of an optimizer that does not follow."""
        with sealed(self._name):
            return self._optimizer.follow(held) if isinstance(self._optimizer, Follower) else None


@contextmanager
def sealed(name: str) -> Iterator[None]:
    """Turns what a library raises into an error that names the optimizer.

    Raises:
        BayopError: the optimizer failed.
    """
    try:
        yield
    except BayopError:
        raise
    except Exception as error:
        message = str(error).strip().partition("\n")[0]
        wrong = f"the optimizer {name} failed: {type(error).__name__}" + (f": {message}" if message else "")
        raise BayopError(wrong=wrong, hint="another optimizer, or other values to choose from, may do") from error
