"""Whose turn it is to search: not all services at once, and of those that serve one thing never two."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Final

MOST: Final = 16
"""So many services search at a time. A search thinks for a few tenths of a second between trials of seconds, in which
an agent may not lose its lease; who has no turn yet watches another window."""


class Turns:
    """Safe to use from several threads.

    Args:
        most: How many services search at a time, but for those that an operator asks for.
        clock: Seconds on a clock that never goes back.
    """

    def __init__(self, most: int = MOST, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.most, self.clock = most, clock
        self.mutex = threading.Lock()
        self.until_s: dict[Turn, float] = {}
        """Until when others of the group wait: without end for who searches."""

    def of(self, service: str, *, group: str | None = None, lease_s: float = 0.0) -> Turn:
        """A service's turns from its begin on, when nobody knows yet whether an earlier process's trial is in effect.

        Args:
            service: Its name.
            group: Of its group at most one is searched at a time; None for no group.
            lease_s: For how long a trial may be in effect that nobody ends.
        """
        return Turn(self, service, group, lease_s)


class Turn:
    """One service's turns; `Turns.of` makes it."""

    def __init__(self, turns: Turns, service: str, group: str | None, lease_s: float) -> None:
        self._turns, self.service, self.group, self._lease_s = turns, service, group, lease_s
        self.waits_for: str | None = None
        """The other of its group that it has asked in vain for its turn, until it is known to be between searches."""
        with turns.mutex:
            turns.until_s[self] = turns.clock() + lease_s

    @property
    def other(self) -> str | None:
        """Who else of its group is searched, or may have a trial in effect; None where nobody is known to."""
        with self._turns.mutex:
            return self._other()

    def take(self, *, is_asked: bool) -> bool:
        """Whether a search may begin; until it has ended, others may have to wait.

        Args:
            is_asked: Whether an operator asks for it, who waits for nobody but others of the group.
        """
        turns = self._turns
        with turns.mutex:
            self.waits_for = self._other()
            if self.waits_for is not None:
                return False
            others = sum(until_s == math.inf for turn, until_s in turns.until_s.items() if turn is not self)
            if others >= turns.most and not is_asked:
                return False
            turns.until_s[self] = math.inf
            return True

    def end(self) -> None:
        """Its search has ended, if there was one. What was tried last is in effect until something else is."""
        turns = self._turns
        with turns.mutex:
            if turns.until_s.get(self) == math.inf:
                turns.until_s[self] = turns.clock() + self._lease_s

    def clear(self) -> None:
        """It is between searches, and no trial is in effect."""
        with self._turns.mutex:
            self._turns.until_s.pop(self, None)
            self.waits_for = None

    def _other(self) -> str | None:
        now_s = self._turns.clock()
        for turn, until_s in list(self._turns.until_s.items()):
            if until_s <= now_s:
                del self._turns.until_s[turn]
            elif turn is not self and self.group is not None and turn.group == self.group:
                return turn.service
        return None
