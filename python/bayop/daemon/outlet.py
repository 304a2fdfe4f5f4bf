"""What a daemon says goes out by a thread of its own: whoever says it never waits for whoever reads it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from types import TracebackType
from typing import Final, Generic, Self, TypeVar

from bayop.errors import BayopError

Word = TypeVar("Word")

MOST: Final = 10_000
"""So many words wait for a reader; what comes then is lost here, and stands in the state all the same."""

_PATIENCE_S: Final = 1.0


class Outlet(Generic[Word]):
    """Writes words in their order. Safe to use from several threads and from signal handlers.

    Args:
        write: Writes one; what it raises is not ours to mend, and the next is tried.
    """

    def __init__(self, write: Callable[[Word], None]) -> None:
        self._write = write
        self._words: SimpleQueue[Word | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="bayop-outlet", daemon=True)
        self._thread.start()

    def put(self, word: Word) -> None:
        """Has a word written soon."""
        if self._words.qsize() < MOST:
            self._words.put(word)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Waits until all is written, if somebody reads it."""
        self._words.put(None)
        self._thread.join(_PATIENCE_S)

    def _run(self) -> None:
        while (word := self._words.get()) is not None:
            with suppress(BayopError, OSError):
                self._write(word)
