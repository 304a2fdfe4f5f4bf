"""A stretch of time stamps: the part of a log that its benchmark ran in."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bayop.interrupts.batch import Batch


@dataclass(frozen=True, slots=True)
class TickWindow:
    """A window from one tick to another, both included.

    Attributes:
        first: The tick at which it opens.
        last: The tick at which it closes.
    """

    first: int
    last: int

    @property
    def ticks(self) -> int:
        """How long it is."""
        return self.last - self.first

    def clip(self, batch: Batch) -> Batch | None:
        """The records from the first to the last one inside; None without any."""
        import polars as pl

        times = batch.interrupts["time_ticks"].to_numpy()
        inside = np.flatnonzero((times >= self.first) & (times <= self.last))
        if not len(inside):
            return None
        start, stop = int(inside[0]), int(inside[-1]) + 1
        if stop - start == len(times):
            return batch
        row = pl.col("row")
        samples = batch.samples.filter(row.is_between(start, stop - 1)).with_columns(row - start)
        interrupts = batch.interrupts.slice(start, stop - start)
        return replace(batch, first_row=batch.first_row + start, interrupts=interrupts, samples=samples)
