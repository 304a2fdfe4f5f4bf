from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tables import study_frame
from tests.unit.analysis.conftest import Repeated

from bayop.analysis.cells import cells
from bayop.analysis.savings import reduction, savings
from bayop.analysis.trade_off import TradeOff

POWER = TradeOff("p99_us", "power_w")
QUANTITIES = ["power_w", "p99_us"]
positive = st.floats(1.0, 1e4)


def cell(mean: float, error: float | None, dof: float | None = 8.0) -> dict[str, Any]:
    return {"power_w": mean, "se.power_w": error, "dof.power_w": dof}


def test_a_saving_is_a_reduction_and_not_a_ratio() -> None:
    """1.76 times as efficient is 43 % less."""
    assert reduction(cell(73.9, None), cell(129.7, None), "power_w").value == pytest.approx(1 - 73.9 / 129.7)
    assert reduction(cell(50.0, None), cell(100.0, None), "power_w").value == pytest.approx(0.5)


@given(a=positive, b=positive, error=st.floats(1e-4, 0.3))
def test_the_interval_holds_the_saving_and_ends_below_all_of_it(a: float, b: float, error: float) -> None:
    saved = reduction(cell(a, a * error), cell(b, b * error), "power_w")
    assert saved.low is not None
    assert saved.high is not None
    assert saved.low < saved.value < saved.high < 1.0


def test_swapping_the_two_inverts_the_ratio() -> None:
    one, other = cell(70.0, 1.0), cell(130.0, 1.5)
    there, back = reduction(one, other, "power_w"), reduction(other, one, "power_w")
    assert there.high is not None
    assert back.low is not None
    assert (1 - there.value) * (1 - back.value) == pytest.approx(1.0)
    assert (1 - there.high) * (1 - back.low) == pytest.approx(1.0)


def test_without_noise_there_is_no_interval() -> None:
    assert reduction(cell(1.0, None, None), cell(2.0, 0.1), "power_w").low is None


def test_the_interval_covers_the_truth_as_often_as_it_says(repeated: Repeated) -> None:
    """Of a hundred studies with three repeats each, about 95 intervals hold the true saving."""
    truth = cells(study_frame(), ["power_w"]).sort("asked.nic.rx_usecs", "asked.cpu.freq_mhz")
    true = 1 - truth["power_w"][5] / truth["power_w"][0]
    hits = 0
    for seed in range(100):
        rows = cells(repeated(seed=seed, sd=0.05), ["power_w"]).sort("asked.nic.rx_usecs", "asked.cpu.freq_mhz")
        saved = reduction(rows.row(5, named=True), rows.row(0, named=True), "power_w")
        hits += saved.low <= true <= saved.high
    assert 88 <= hits <= 100


def test_both_bounds_are_kept() -> None:
    table = cells(study_frame(), QUANTITIES)
    results = savings(table, POWER, {"no slower": None, "under": 1e5, "never": 1e-3})
    assert [saving.under for saving in results] == ["no slower", "under"]
    no_slower, under = results
    assert no_slower.cell["p99_us"] <= no_slower.default["p99_us"]
    assert under.reductions["power_w"].value >= no_slower.reductions["power_w"].value
    assert under.setting.keys() == {"nic.rx_usecs", "cpu.freq_mhz"}


def test_a_system_without_a_default_is_compared_with_the_only_one() -> None:
    other = study_frame(study="other").with_columns(os=pl.lit("ebbrt")).filter(pl.col("trial") > 1)
    table = cells(pl.concat([study_frame(), other]), QUANTITIES)
    results = savings(table, POWER, {"any": math.inf})
    assert [(s.condition["os"], s.against["os"]) for s in results] == [("ebbrt", "linux"), ("linux", "linux")]


def test_no_default_no_saving() -> None:
    table = cells(study_frame().filter(pl.col("trial") > 1), QUANTITIES)
    assert savings(table, POWER, {"any": math.inf}) == []


def test_a_default_of_zero_is_no_reference() -> None:
    frame = study_frame().with_columns(qps=pl.lit(0.0))
    results = savings(cells(frame, [*QUANTITIES, "qps"]), POWER, {"any": math.inf})
    assert "qps" not in results[0].reductions
    assert np.isfinite(results[0].reductions["power_w"].value)
