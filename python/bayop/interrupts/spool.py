"""Records of a recording that goes on, by queue, in files without a name: what is left of them are logs, or nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from bayop.errors import unwritable
from bayop.interrupts import parquet
from bayop.interrupts.batch import Batch
from bayop.interrupts.capture import COLUMN_OF, Chunk, Source
from bayop.interrupts.energy import Energy
from bayop.interrupts.layout import ENERGY_UJ

_NO_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+")


class Spool:
    """What was recorded so far; the kernel removes it with the process that records.

    Args:
        folder: Where it takes room, and where the logs will be.
        most_bytes: How much it may take.
        energy: What the machine had drawn by its beginning.
    """

    def __init__(self, folder: Path, most_bytes: int, energy: Energy) -> None:
        self._folder = folder
        self._left_bytes = most_bytes
        self._files: dict[int, IO[bytes]] = {}
        self._stack = ExitStack()
        self.energy = energy
        """What the machine has drawn."""

    def add(self, source: Source, chunk: Chunk) -> int:
        """Keeps the records of a moment that there is room for, and returns how many those are.

        Raises:
            InputError: they can't be written.
        """
        if chunk.energy is not None:
            self.energy.add(*chunk.energy)
        kept = chunk.records[: self._left_bytes // source.record.itemsize]
        self._left_bytes -= kept.nbytes
        keys = kept[source.key]
        try:
            for key in np.unique(keys).tolist():
                if key not in self._files:
                    self._files[key] = self._stack.enter_context(
                        TemporaryFile(dir=self._folder)  # noqa: SIM115 -- the stack closes it
                    )
                self._files[key].write(kept[keys == key].tobytes())
        except OSError as error:
            raise unwritable(self._folder, error) from error
        return len(kept)

    def write_logs(self, source: Source, number: str) -> list[Path]:
        """Writes a log for each queue that interrupted.

        Args:
            source: What was recorded.
            number: What their names have after that of the queue.

        Raises:
            InputError: they can't be written.
        """
        paths = []
        for key, file in sorted(self._files.items()):
            name = source.name_of(key)
            path = self._folder / f"{_NO_NAME.sub('-', name)}{number}.parquet"
            parquet.write(_batches(file, source, name, self.energy), source.layout(name), path)
            paths.append(path)
        return paths

    def close(self) -> None:
        """Forgets the records."""
        self._stack.close()


def _batches(file: IO[bytes], source: Source, name: str, energy: Energy) -> Iterator[Batch]:
    """The records of a queue in the columns of its layout."""
    import polars as pl

    layout, row, drawn_uj = source.layout(name), 0, None
    file.seek(0)
    while data := file.read(parquet.BATCH_ROWS * source.record.itemsize):
        records = np.frombuffer(data, source.record)
        columns: dict[str, NDArray[Any]] = {"entry": np.arange(row, row + len(records))}
        if ENERGY_UJ in layout.amounts:
            by_then_uj = energy.until(records["time_ns"])
            columns[ENERGY_UJ] = np.diff(by_then_uj, prepend=by_then_uj[0] if drawn_uj is None else drawn_uj)
            drawn_uj = by_then_uj[-1]
        columns |= {column: records[COLUMN_OF.get(column, column)] for column in layout.every if column not in columns}
        frame = pl.DataFrame({column: columns[column].astype(np.int64) for column in layout.every})
        samples = pl.DataFrame(schema={"row": pl.Int64, "time_ticks": pl.Int64})
        yield Batch(layout, row, frame, samples)
        row += len(records)
