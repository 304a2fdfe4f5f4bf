"""A histogram whose buckets grow with the value: quantiles of any number of values in constant memory.

Every octave has 128 buckets of equal width (the layout of HDR histograms), so a quantile is off by at most 0.4 %, and
not at all for whole numbers below 256. Everything kept is a whole number: histograms add up without rounding, so the
parts of a log may be summarised in any grouping and give the same result to the last bit.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]

OCTAVE: Final = 128
"""Buckets per octave."""
RELATIVE_ERROR: Final = 1 / (2 * OCTAVE)
"""A quantile is at most this far from the value of that rank, as a share of it."""
LARGEST: Final = 2**53 - 1
"""The greatest value: beyond it a float64, whose bits say the bucket, skips whole numbers."""

_MANTISSA_BITS: Final = 52
_SHIFT: Final = _MANTISSA_BITS - OCTAVE.bit_length() + 1
# The index of 1 would be this; 0 has a bucket of its own below it.
_BASE: Final = (1023 * OCTAVE) - 1
BUCKETS: Final = 53 * OCTAVE + 1
# The squares of up to 2**20 smaller values add up in int64.
_SMALL: Final = 2**21


def bucket_of(values: Whole) -> Whole:
    """The bucket of each value from 0 to `LARGEST`: exponent and leading bits of the mantissa of its float64."""
    index = values.astype(np.float64).view(np.int64)
    index >>= _SHIFT
    index -= _BASE
    np.maximum(index, 0, out=index)
    return index


def lower_bounds(buckets: Whole) -> NDArray[np.float64]:
    """The least value of each bucket, as a real number."""
    bits = (buckets.astype(np.int64) + _BASE) << _SHIFT
    return np.where(buckets == 0, 0.0, bits.view(np.float64))


def representative(bucket: int) -> float:
    """The middle of the whole numbers that a bucket holds."""
    if bucket == 0:
        return 0.0
    low, high = (math.ceil(bound) for bound in lower_bounds(np.array([bucket, bucket + 1])).tolist())
    return float(low + high - 1) / 2


class Histogram:
    """Counts of whole numbers from 0 to `LARGEST`, with their exact sum, sum of squares, least and greatest."""

    def __init__(self) -> None:
        self.counts: Whole = np.zeros(BUCKETS, dtype=np.int64)
        self.count = 0
        self.sum = 0
        self.sum_of_squares = 0
        self.least: int | None = None
        self.greatest: int | None = None

    def add(self, values: Whole, buckets: Whole | None = None) -> None:
        """Counts some values; their buckets may be handed in where they are known already."""
        if not len(values):
            return
        self.counts += np.bincount(bucket_of(values) if buckets is None else buckets, minlength=BUCKETS)
        self.count += len(values)
        greatest = int(values.max())
        self._bound(int(values.min()), greatest)
        large: list[int] = []
        if greatest >= _SMALL:
            large = values[values >= _SMALL].tolist()
            values = values[values < _SMALL]
        self.sum += int(values.sum()) + sum(large)
        self.sum_of_squares += int(np.dot(values, values)) + sum(value * value for value in large)

    def merge(self, other: Histogram) -> None:
        """Adds what another histogram has counted."""
        self.counts += other.counts
        self.count += other.count
        self.sum += other.sum
        self.sum_of_squares += other.sum_of_squares
        if other.least is not None and other.greatest is not None:
            self._bound(other.least, other.greatest)

    def quantile(self, share: float) -> float | None:
        """The value that a share of all values do not exceed, within `RELATIVE_ERROR`; None without values."""
        if self.least is None or self.greatest is None:
            return None
        rank = max(1, math.ceil(share * self.count))
        bucket = int(np.searchsorted(np.cumsum(self.counts), rank))
        return min(max(representative(bucket), float(self.least)), float(self.greatest))

    @property
    def mean(self) -> float | None:
        """The exact mean, rounded once; None without values."""
        return self.sum / self.count if self.count else None

    @property
    def variation(self) -> float | None:
        """The coefficient of variation, standard deviation / mean; None without values or with a mean of 0."""
        if not self.sum:
            return None
        return math.sqrt(self.count * self.sum_of_squares - self.sum**2) / self.sum

    def _bound(self, least: int, greatest: int) -> None:
        self.least = least if self.least is None else min(self.least, least)
        self.greatest = greatest if self.greatest is None else max(self.greatest, greatest)
