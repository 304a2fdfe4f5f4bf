"""Polish of what is held, in the windows after a search: what promises to be better and is surely safe."""

from __future__ import annotations

from typing import Final

from bayop.control.ledger import LedgerWindow
from bayop.measurement import Measurement
from bayop.search import SearchSteps
from bayop.space import Setting

_TEACHES_WITHIN: Final = 0.03
"""A window teaches where its load differs by no more, as a share, from that of the search."""


class Polishing:
    """Goes on with the steps of a search that has ended.

    Windows at another load than the search's teach nothing here, and nothing is moved by them: the model would take for
    noise, or for the setting's doing, what is the load's.

    Args:
        steps: The search's.
        qps: Its load.
        windows: How many windows it goes on for. Each makes the model slower.
    """

    def __init__(self, steps: SearchSteps, qps: float, windows: int) -> None:
        self._steps, self._qps, self._left = steps, qps, windows
        self._may_move = False
        self._asked: Setting | None = None
        self._before: Setting | None = None
        """What was held before the last move, until a window of the new setting has met the SLO."""

    def see(self, window: LedgerWindow, measurement: Measurement) -> None:
        """Takes in a window of what is held."""
        if window.meets_slo:
            self._before = None
        self._may_move = self._left > 0 and abs(window.qps / self._qps - 1.0) <= _TEACHES_WITHIN
        if self._may_move and window.setting is not None:
            self._left -= 1
            self._steps.watch(window.setting, measurement)

    def move(self, held: Setting) -> Setting | None:
        """What to hold instead; None for nothing else."""
        if not self._may_move:
            return None
        setting = self._steps.hold(held)
        if setting is None or setting in (held, self._asked):
            return None
        self._asked, self._before = setting, held
        return setting

    def back(self) -> Setting | None:
        """What to hold after a window that has missed the SLO: what was held before the last move, if that is new."""
        before, self._before = self._before, None
        self._may_move = False
        return before
