from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.interrupts.histogram import (
    BUCKETS,
    LARGEST,
    RELATIVE_ERROR,
    Histogram,
    bucket_of,
    lower_bounds,
    representative,
)

values = st.one_of(st.integers(0, 300), st.integers(0, LARGEST))


def counted(numbers: list[int]) -> Histogram:
    histogram = Histogram()
    histogram.add(np.array(numbers, dtype=np.int64))
    return histogram


@given(values)
def test_a_value_lies_in_its_bucket_and_near_what_stands_for_it(value: int) -> None:
    bucket = bucket_of(np.array([value]))
    assert 0 <= bucket[0] < BUCKETS
    low, high = lower_bounds(np.array([bucket[0], bucket[0] + 1]))
    assert low <= value < high
    assert abs(representative(int(bucket[0])) - value) <= RELATIVE_ERROR * value


@pytest.mark.parametrize("value", [0, 1, 2, 100, 255])
def test_small_whole_numbers_are_exact(value: int) -> None:
    assert representative(int(bucket_of(np.array([value]))[0])) == value


@given(st.lists(values, min_size=1, max_size=200), st.floats(0.001, 1.0))
def test_a_quantile_is_the_value_of_that_rank_within_the_stated_error(numbers: list[int], share: float) -> None:
    exact = float(np.quantile(np.array(numbers, dtype=object).astype(np.int64), share, method="inverted_cdf"))
    assert counted(numbers).quantile(share) == pytest.approx(exact, rel=1.01 * RELATIVE_ERROR, abs=1e-9)


@given(st.lists(values, max_size=100), st.lists(values, max_size=100))
def test_histograms_of_parts_add_up_to_that_of_the_whole(first: list[int], second: list[int]) -> None:
    merged, whole = counted(first), counted(first + second)
    merged.merge(counted(second))
    assert merged.counts.tolist() == whole.counts.tolist()
    for name in ("count", "sum", "sum_of_squares", "least", "greatest"):
        assert getattr(merged, name) == getattr(whole, name)


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=100))
def test_mean_and_variation_are_exact(numbers: list[int]) -> None:
    histogram = counted(numbers)
    assert histogram.mean == pytest.approx(np.mean(numbers), rel=1e-12)
    if any(numbers):
        assert histogram.variation == pytest.approx(np.std(numbers) / np.mean(numbers), rel=1e-6, abs=1e-6)


def test_nothing_was_counted() -> None:
    nothing = Histogram()
    assert nothing.quantile(0.5) is None
    assert nothing.mean is None
    assert nothing.variation is None
    assert counted([0, 0]).variation is None
