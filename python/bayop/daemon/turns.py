"""Whose turn it is to search: when the load of all services changes at once, they do not all think at once."""

from __future__ import annotations

import threading
from typing import Final

MOST: Final = 16
"""So many services search at a time. A search thinks for a few tenths of a second between trials of seconds, in which
an agent may not lose its lease; who has no turn yet watches another window."""


class Turns:
    """Safe to use from several threads."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._mutex = threading.Lock()
        self._searching: set[str] = set()

    def take(self, service: str) -> bool:
        """Whether a service may begin a search, or go on with its own; until it has ended, others may have to wait."""
        with self._mutex:
            if service not in self._searching and len(self._searching) >= self._most:
                return False
            self._searching.add(service)
            return True

    def end(self, service: str) -> None:
        """A service does not search any more, if it has."""
        with self._mutex:
            self._searching.discard(service)
