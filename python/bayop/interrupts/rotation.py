"""Logs of a recording that goes on: one of each queue for each stretch of time, the oldest of which make room."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from math import isfinite
from pathlib import Path
from types import TracebackType
from typing import Self

from bayop.errors import unwritable
from bayop.interrupts.capture import Chunk, Source
from bayop.interrupts.energy import Energy
from bayop.interrupts.spool import Spool


class Rotation:
    """What was recorded so far, as logs; each is whole when it appears. They are written beside the recording.

    Args:
        folder: Where the logs will be.
        most_bytes: How much they may take, and how much the records of one stretch.
        stretch_s: How long a stretch is; infinite for one that is as long as the recording, whose logs have no number.
    """

    def __init__(self, folder: Path, most_bytes: int, stretch_s: float) -> None:
        self._folder, self._most_bytes, self._stretch_s = folder, most_bytes, stretch_s
        self._spool = Spool(folder, most_bytes, Energy())
        self._ends_s = stretch_s
        self._stretches = 0
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="bayop-log")
        self._written: Future[Sequence[Path]] | None = None
        self._paths: list[Path] = []
        self.removed = 0
        """How many logs have made room for newer ones."""

    def add(self, source: Source, chunk: Chunk) -> int:
        """Keeps the records of a moment that there is room for, and returns how many those are.

        Raises:
            InputError: they, or the logs of a stretch before, can't be written.
        """
        kept = self._spool.add(source, chunk)
        if chunk.time_s >= self._ends_s:
            self._end_stretch(source)
            self._ends_s = chunk.time_s + self._stretch_s
        return kept

    def write_logs(self, source: Source) -> list[Path]:
        """Ends the last stretch, and returns the logs that there are.

        Raises:
            InputError: they can't be written.
        """
        self._end_stretch(source)
        self._shelve()
        return self._paths

    def _end_stretch(self, source: Source) -> None:
        self._shelve()
        spool, self._spool = self._spool, Spool(self._folder, self._most_bytes, self._spool.energy.ending())
        self._stretches += 1
        number = f"-{self._stretches:06}" if isfinite(self._stretch_s) else ""
        self._written = self._writer.submit(_write, spool, source, number)

    def _shelve(self) -> None:
        """Waits for the logs of the stretch before, and lets the oldest go until all have room."""
        if self._written is None:
            return
        self._paths += self._written.result()
        self._written = None
        try:
            sizes = [path.stat().st_size for path in self._paths]
            while isfinite(self._stretch_s) and sum(sizes) > self._most_bytes:
                self._paths.pop(0).unlink()
                del sizes[0]
                self.removed += 1
        except OSError as error:
            raise unwritable(self._folder, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.shutdown()
        self._spool.close()


def _write(spool: Spool, source: Source, number: str) -> Sequence[Path]:
    with closing(spool):
        return spool.write_logs(source, number)
