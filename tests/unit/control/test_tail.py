from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bayop.control.tail import share_over
from bayop.measurement import Measurement

WINDOW = Measurement({"p50_us": 100.0, "p90_us": 200.0, "p99_us": 400.0, "p999_us": 800.0, "power_w": 80.0})


@pytest.mark.parametrize(("limit", "share"), [(100, 0.5), (200, 0.1), (400, 0.01), (800, 0.001)])
def test_at_a_quantile_the_share_is_the_quantiles(limit: float, share: float) -> None:
    assert share_over(WINDOW, limit) == pytest.approx(share)


def test_between_and_beyond_quantiles_the_tail_is_a_power_law() -> None:
    assert share_over(WINDOW, math.sqrt(200 * 400)) == pytest.approx(math.sqrt(0.1 * 0.01))
    assert share_over(WINDOW, 1600) == pytest.approx(0.0001)


def test_a_limit_below_the_fastest_quantile_counts_everything() -> None:
    assert share_over(WINDOW, 50) == 1.0


def test_one_quantile_has_no_slope() -> None:
    assert share_over(Measurement({"p99_us": 300.0}), 500) == pytest.approx(0.01)
    assert share_over(Measurement({"power_w": 80.0}), 500) == 1.0


def test_the_slowest_request_says_nothing_about_the_tail() -> None:
    slowest = Measurement({**WINDOW.quantities, "p100_us": 5000.0})
    assert all(share_over(slowest, limit) == share_over(WINDOW, limit) for limit in (50, 150, 800, 6000))


def test_equal_quantiles_keep_the_smaller_share() -> None:
    flat = Measurement({"p50_us": 100.0, "p99_us": 100.0, "p999_us": 200.0})
    assert share_over(flat, 150) <= 0.01 + 1e-12


@example([1.0, 1.0000000000000002, 1.5, 2.0], 1.0, 1.0)
@given(st.lists(st.floats(1.0, 1e6), min_size=4, max_size=4), st.floats(1.0, 1e6), st.floats(1.0, 1e6))
def test_the_share_falls_with_the_limit(latencies: list[float], one: float, other: float) -> None:
    names = ("p50_us", "p90_us", "p99_us", "p999_us")
    window = Measurement(dict(zip(names, sorted(latencies), strict=True)))
    low, high = sorted((one, other))
    assert 1.0 >= share_over(window, low) >= share_over(window, high) >= 0.0
