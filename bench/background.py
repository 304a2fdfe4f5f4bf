"""What happens beside a benchmark, in a thread of its own."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Self


class Background(ABC):
    """A context that runs a thread as long as it lasts."""

    def __init__(self) -> None:
        self._over = threading.Event()
        """Set when the context ends, which then waits for the thread."""
        self._thread = threading.Thread(target=self._run)

    @abstractmethod
    def _run(self) -> None:
        """The thread; it returns soon after the context is over."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
