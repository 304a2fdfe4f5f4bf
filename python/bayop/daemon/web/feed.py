"""What happens, for whoever looks on: the last words, each with its number. Who tells them never waits."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final

MOST: Final = 2000
"""So many words are kept for who was away for a moment."""


class Feed:
    """Keeps the last events. Safe to use from several threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._words: deque[Mapping[str, Any]] = deque(maxlen=MOST)
        self._last = 0
        self._viewers = 0
        self._is_over = False

    @property
    def last(self) -> int:
        """The number of the last word; 0 before the first."""
        return self._last

    @property
    def viewers(self) -> int:
        """How many look on."""
        return self._viewers

    @property
    def is_over(self) -> bool:
        """Whether nothing follows any more."""
        return self._is_over

    @contextmanager
    def watched(self, most: int) -> Iterator[bool]:
        """Counts one more who looks on; whether there is room for one, of at most so many."""
        with self._changed:
            has_room = self._viewers < most
            self._viewers += has_room
            self._changed.notify_all()
        try:
            yield has_room
        finally:
            with self._changed:
                self._viewers -= has_room

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
        """The number of the last word, and the words after `number`, waited for no longer than `timeout_s`.

        They are None where some of them are not kept any more, or the number is none of ours.
        """
        with self._changed:
            self._changed.wait_for(lambda: number != self._last or self._is_over, timeout_s)
            missing = self._last - number
            if not 0 <= missing <= len(self._words):
                return self._last, None
            return self._last, list(islice(self._words, len(self._words) - missing, None))
