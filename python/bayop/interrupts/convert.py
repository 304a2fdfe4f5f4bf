"""A log of any kind as a Parquet file that says the same, to the last bit of its summary."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bayop.errors import InputError
from bayop.interrupts import parquet
from bayop.interrupts.batch import Batch
from bayop.interrupts.log import Log
from bayop.interrupts.query import follow


def convert(log: Log, out: Path) -> int:
    """Writes the file, checks every record on the way, and returns how many there were.

    Raises:
        InputError: with file, line and column: something is no record; or the file can't be written.
    """
    records = 0

    def batches() -> Iterator[Batch]:
        nonlocal records
        for batch, so_far in follow(log, log.pieces()):
            records = so_far.records
            yield batch
        if not records:
            raise InputError(
                "a log must have at least one record", wrong="the log is empty", place=f"{log.path}, line 1"
            )

    parquet.write(batches(), log.layout, out)
    return records
