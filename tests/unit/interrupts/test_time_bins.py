from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.interrupts.histogram import bucket_of
from bayop.interrupts.time_bins import MOST_BINS, TimeBins

ascending = st.lists(st.integers(0, 10**6), min_size=1, max_size=50).map(sorted)


def binned(times: list[int], gaps: list[int]) -> TimeBins:
    bins = TimeBins(times[0], times[-1])
    ticks, spacing = np.array(times), np.array(gaps)
    bins.add(ticks, {"interrupts": np.ones(len(times), dtype=np.int64), "gap_ticks": spacing})
    bins.add_spacing(ticks, bucket_of(spacing))
    return bins


@given(ascending, st.integers(0, 10**15))
def test_however_long_a_log_is_it_has_few_bins_and_nothing_is_lost(times: list[int], origin: int) -> None:
    bins = binned([origin + t for t in times], times)
    assert len(bins.rows) <= MOST_BINS
    assert bins.sums("interrupts").sum() == bins.spacing.sum() == len(times)
    assert bins.sums("gap_ticks").sum() == sum(times)


@given(ascending, st.integers(0, 50))
def test_bins_of_parts_add_up_to_those_of_the_whole(times: list[int], cut: int) -> None:
    whole = binned(times, times)
    first, second = times[:cut], times[cut:]
    if not first or not second:
        return
    merged = binned(first, first)
    merged.merge(binned(second, second))
    assert (merged.exponent, merged.first) == (whole.exponent, whole.first)
    assert merged.rows.tolist() == whole.rows.tolist()


def test_a_bin_begins_where_it_says() -> None:
    bins = binned([1000, 1511, 1512, 4000], [5, 5, 5, 5])
    assert bins.exponent == 4
    begun = [int(t) for t, n in zip(bins.ticks(), bins.sums("interrupts"), strict=True) if n]
    assert begun == [992, 1504, 4000]
    assert bins.sums("interrupts").sum() == 4


def test_the_median_of_a_bin_is_near() -> None:
    medians = binned([0, 1, 2, 300_000], [1000, 1010, 50_000, 20_000]).median_spacing()
    assert medians[0] == pytest.approx(1010, rel=1 / 16)
    assert medians[-1] == pytest.approx(20_000, rel=1 / 16)
    assert np.isnan(medians[1])
