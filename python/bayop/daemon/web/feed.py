"""What happens, for whoever looks on: the last words, each with its number. Who tells them never waits."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

MOST: Final = 2000
"""So many words are kept for who was away for a moment."""


class Feed:
    """Keeps the last events. Safe to use from several threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._words: deque[Mapping[str, Any]] = deque(maxlen=MOST)
        self._last = 0
        self._is_over = False

    @property
    def last(self) -> int:
        """The number of the last word; 0 before the first."""
        return self._last

    @property
    def is_over(self) -> bool:
        """Whether nothing follows any more."""
        return self._is_over

    def put(self, word: Mapping[str, Any]) -> None:
        """Adds a word."""
        with self._changed:
            self._words.append(word)
            self._last += 1
            self._changed.notify_all()

    def close(self) -> None:
        """Nothing follows any more: who waits goes."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def after(self, number: int, timeout_s: float) -> tuple[int, list[Mapping[str, Any]] | None]:
        """The words after a number, waited for no longer than `timeout_s`, and the number of the last of them.

        The words are None where some of them are not kept any more, or the number is none of ours.
        """
        with self._changed:
            if number == self._last and not self._is_over:
                self._changed.wait(timeout_s)
            missing = self._last - number
            if not 0 <= missing <= len(self._words):
                return self._last, None
            return self._last, [self._words[index] for index in range(len(self._words) - missing, len(self._words))]
