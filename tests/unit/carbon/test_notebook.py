"""The notebooks' arithmetic on bare numbers; `test_published.py` holds it against what they print."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.carbon.notebook import GRID_MG_PER_J, notebook_intensity
from bayop.carbon.stack import Stack

PLAIN = Stack("s", "app", {"cpu": 2.0}, reused=False, power_w=100.0, qps=10.0, network_bytes_per_s=1000.0)


def test_by_hand() -> None:
    """2000 g, 100 W and 1000 bytes/s of 2.7 J each, shared by ten requests; the grid's mg are grams a factor."""
    assert notebook_intensity(PLAIN) == pytest.approx((2000.0 + GRID_MG_PER_J * (100.0 + 2700.0)) / 10.0)


def test_the_grid_has_cancelled() -> None:
    """277.3 g/kWh times 1000 over 3.6e6 J times 277.3: whatever the grid, a mg for 3600 J."""
    assert pytest.approx(1.0 / 3600.0) == GRID_MG_PER_J


def test_the_notebook_may_have_another_power() -> None:
    more = notebook_intensity(PLAIN, power_w=460.0) - notebook_intensity(PLAIN)
    assert more == pytest.approx(360.0 / 3600.0 / 10.0)
    assert notebook_intensity(PLAIN, power_w=0.0) < notebook_intensity(PLAIN)


@given(st.integers(0, 60))
def test_in_the_plots_what_was_embodied_shrinks_by_a_fifth_every_month(month: int) -> None:
    running = notebook_intensity(replace(PLAIN, reused=True))
    embodied = notebook_intensity(PLAIN, month=month) - running
    assert embodied == pytest.approx(200.0 * 0.8 ** (month + 1), abs=1e-9)


def test_the_notebooks_embodied_carbon_decays_from_the_start(stack: Stack) -> None:
    whole = notebook_intensity(stack)
    later = [notebook_intensity(stack, month=month) for month in (0, 1, 200)]
    assert whole > later[0] > later[1]
    assert later[2] == pytest.approx(notebook_intensity(replace(stack, reused=True)))
