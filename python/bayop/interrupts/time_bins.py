"""What happened when: sums over equal stretches of time, at most 256 of them however long the log is.

A bin is 2^k ticks wide and starts at a multiple of that, so that the bins of two parts of a log fall together; k is the
least that needs no more than 256 bins. Rates divide by the time that the records of a bin speak for, not by its width.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from bayop.interrupts.histogram import BUCKETS, OCTAVE, Whole, lower_bounds

MOST_BINS: Final = 256
SUMS: Final = ("interrupts", "gap_ticks", "rx_bytes", "tx_bytes")
"""Of interrupts: how many, the time since the one before, bytes."""
SAMPLED_SUMS: Final = ("sampled_ticks", "instructions", "cycles", "ref_cycles", "llc_misses", "energy_units")
"""Of samples: the time since the one before, and what was counted in it."""
SPACING_OCTAVE: Final = 8
"""Buckets per octave of the spacing within a bin."""
MEDIAN_RELATIVE_ERROR: Final = 1 / (2 * SPACING_OCTAVE)
"""A bin's median spacing is at most this far from the true one, as a share of it."""

_COARSER: Final = OCTAVE // SPACING_OCTAVE
_NAMES: Final = (*SUMS, *SAMPLED_SUMS)
_COLUMNS: Final = len(_NAMES) + BUCKETS // _COARSER + 1


class TimeBins:
    """The sums of each bin, from the first to the last tick.

    Attributes:
        exponent: A bin is `2**exponent` ticks wide.
        rows: Bins x (sums by name, then counts of interrupts by their coarse bucket of spacing).
    """

    def __init__(self, first_tick: int, last_tick: int) -> None:
        self.first_tick = first_tick
        self.last_tick = last_tick
        self.exponent = 0
        while (last_tick >> self.exponent) - (first_tick >> self.exponent) >= MOST_BINS:
            self.exponent += 1
        self.rows: Whole = np.zeros(((last_tick >> self.exponent) - self.first + 1, _COLUMNS), dtype=np.int64)

    def add(self, times: Whole, sums: dict[str, Whole]) -> None:
        """Adds to the bins of some times, which ascend."""
        index = self._index(times)
        starts = np.flatnonzero(np.diff(index, prepend=-1))
        for name, values in sums.items():
            self.rows[index[starts], _NAMES.index(name)] += np.add.reduceat(values, starts)

    def add_spacing(self, times: Whole, buckets: Whole) -> None:
        """Counts interrupts by their bucket of spacing."""
        width = _COLUMNS - len(_NAMES)
        cells = self._index(times) * width
        cells += buckets // _COARSER
        counts = np.bincount(cells, minlength=len(self.rows) * width)
        self.rows[:, len(_NAMES) :] += counts.reshape(len(self.rows), width)

    def merge(self, other: TimeBins) -> None:
        """Adds the bins of another part of the same log."""
        joint = TimeBins(min(self.first_tick, other.first_tick), max(self.last_tick, other.last_tick))
        for bins in (self, other):
            numbers = np.arange(bins.first, bins.first + len(bins.rows)) >> (joint.exponent - bins.exponent)
            starts = np.flatnonzero(np.diff(numbers, prepend=-1))
            joint.rows[numbers[starts] - joint.first] += np.add.reduceat(bins.rows, starts)
        self.first_tick, self.last_tick = joint.first_tick, joint.last_tick
        self.exponent, self.rows = joint.exponent, joint.rows

    def ticks(self) -> Whole:
        """The tick at which each bin begins."""
        return (self.first + np.arange(len(self.rows))) << self.exponent

    def sums(self, name: str) -> Whole:
        """One of the sums, by bin."""
        return self.rows[:, _NAMES.index(name)]

    @property
    def spacing(self) -> Whole:
        """Interrupts by bin and coarse bucket of spacing; bucket j begins where the histogram's bucket `16 j` does."""
        return self.rows[:, len(_NAMES) :]

    def median_spacing(self) -> NDArray[np.float64]:
        """The median spacing of each bin in ticks, to `MEDIAN_RELATIVE_ERROR`; NaN where no interrupt came."""
        totals = self.spacing.sum(axis=1)
        reached = np.cumsum(self.spacing, axis=1) * 2 >= np.maximum(totals, 1)[:, np.newaxis]
        bucket = np.argmax(reached, axis=1) * _COARSER
        middle = (lower_bounds(bucket) + lower_bounds(bucket + _COARSER)) / 2
        return np.where(totals > 0, middle, np.nan)

    @property
    def first(self) -> int:
        """The number of the first bin, counted from tick 0."""
        return self.first_tick >> self.exponent

    def _index(self, times: Whole) -> Whole:
        return (times >> self.exponent) - self.first
