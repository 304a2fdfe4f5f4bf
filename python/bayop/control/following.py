"""What is held follows the load between two searches: the model knows what a load does, and needs no trial for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bayop.control.ledger import LedgerWindow
from bayop.optimize.base import Follower, Optimizer, Problem
from bayop.space import Setting

_MOVED: Final = 0.01
"""A load that has moved by this share since the last look asks for another."""


class Following:
    """When the model is asked whether what is held is still right, and what it says.

    Args:
        qps: The load that was searched at, in requests/s.
    """

    def __init__(self, qps: float) -> None:
        self._qps = qps
        self._misses = 0

    def see(self, window: LedgerWindow) -> None:
        """Takes in a window of what is held."""
        self._misses = 0 if window.meets_slo else self._misses + 1

    def is_due(self, qps: float) -> bool:
        """Whether the load is another than at the last look."""
        return abs(qps / self._qps - 1.0) > _MOVED

    @property
    def may_be_luck(self) -> bool:
        """Whether the window that has just missed the SLO is the only one: two are no bad luck."""
        return self._misses <= 1

    def setting(
        self, problem: Problem, held: Setting, make_optimizer: Callable[[Problem], Optimizer]
    ) -> Setting | None:
        """What to hold at a problem's load, perhaps what is held; None where the model is sure of nothing."""
        self._qps = problem.qps
        optimizer = make_optimizer(problem)
        return optimizer.follow(held) if isinstance(optimizer, Follower) else None
