from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.carbon.grid import Grid
from bayop.carbon.intensity import intensity, intensity_by_month
from bayop.carbon.notebook import notebook_intensity
from bayop.carbon.stack import Stack

positive = st.floats(1e-3, 1e6)


def test_by_hand(stack: Stack, grid: Grid) -> None:
    found = intensity(stack, grid, 5.0)
    assert found.embodied_mg == pytest.approx(221.9e6 / (1.6e6 * 5 * 365 * 86400))
    assert found.operational_mg == pytest.approx(277.3e3 / 3.6e6 * 236.8 / 1.6e6)
    assert found.network_mg == pytest.approx(277.3e3 / 3.6e6 * 5e9 * 2.7e-6 / 1.6e6)
    assert found.total_mg == pytest.approx(found.embodied_mg + found.operational_mg + found.network_mg)


def test_reuse_charges_nothing(stack: Stack, grid: Grid) -> None:
    assert intensity(replace(stack, reused=True), grid, 5.0).embodied_mg == 0.0


@given(positive, positive, st.floats(0.1, 20.0))
def test_scales_as_it_should(stack: Stack, grid: Grid, power_w: float, qps: float, years: float) -> None:
    stack = replace(stack, power_w=power_w, qps=qps)
    found, twice = intensity(stack, grid, years), intensity(stack, grid, 2.0 * years)
    assert twice.embodied_mg == pytest.approx(found.embodied_mg / 2.0)
    assert twice.without_network_mg < found.without_network_mg
    greener = intensity(stack, Grid((277.3 / 2.0,)), years)
    assert greener.operational_mg == pytest.approx(found.operational_mg / 2.0)
    assert greener.embodied_mg == found.embodied_mg


def test_the_last_month_is_the_lifetime(stack: Stack, grid: Grid) -> None:
    curve = intensity_by_month(stack, grid, range(1, 61))
    assert curve[-1].total_mg == pytest.approx(intensity(stack, grid, 5.0).total_mg)
    totals = [i.total_mg for i in curve]
    assert totals == sorted(totals, reverse=True)


def test_it_is_the_same_by_any_unit_of_time_and_the_published_sum_is_not(stack: Stack, grid: Grid) -> None:
    """Counted by the minute, every rate is sixty times as much, and a life has as many units fewer."""
    by_minute = replace(
        stack, power_w=60 * stack.power_w, qps=60 * stack.qps, network_bytes_per_s=60 * stack.network_bytes_per_s
    )
    found, again = intensity(stack, grid, 5.0), intensity(by_minute, grid, 5.0 / 60)
    for name in ("embodied_mg", "operational_mg", "network_mg"):
        assert getattr(again, name) == pytest.approx(getattr(found, name))
    assert notebook_intensity(by_minute) < 0.99 * notebook_intensity(stack)
