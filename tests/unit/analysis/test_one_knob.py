from __future__ import annotations

import math

import polars as pl
import pytest
from tests.support.tables import study_frame

from bayop.analysis.cells import cells
from bayop.analysis.one_knob import BOTH, DELAY_ONLY, FREQUENCY_ONLY, compare_knobs
from bayop.analysis.trade_off import TradeOff

POWER = TradeOff("p99_us", "power_w")


def test_the_other_knob_stands_at_its_fastest() -> None:
    compared = compare_knobs(cells(study_frame(), ["power_w", "p99_us"]), POWER, math.inf)
    assert compared[DELAY_ONLY][0].setting["cpu.freq_mhz"] == 2900.0
    assert compared[FREQUENCY_ONLY][0].setting["nic.rx_usecs"] == 2.0


def test_both_knobs_save_at_least_as_much_as_one() -> None:
    comparison = compare_knobs(cells(study_frame(), ["power_w", "p99_us"]), POWER, math.inf)
    shares = {knob: savings[0].reductions["power_w"].value for knob, savings in comparison.items()}
    assert shares[BOTH] >= max(shares[DELAY_ONLY], shares[FREQUENCY_ONLY])


def test_the_default_does_not_compete() -> None:
    frame = study_frame().with_columns(power_w=pl.when(pl.col("trial") == 1).then(1.0).otherwise(pl.col("power_w")))
    compared = compare_knobs(cells(frame, ["power_w", "p99_us"]), POWER, math.inf)
    assert compared[BOTH][0].setting
    assert compared[BOTH][0].reductions["power_w"].value < 0


def test_one_value_of_a_knob_says_nothing() -> None:
    frame = study_frame(freqs=(2900,))
    assert compare_knobs(cells(frame, ["power_w", "p99_us"]), POWER, math.inf) == {}


@pytest.mark.parametrize("absent", [["asked.nic.rx_usecs"], ["asked.cpu.freq_mhz"]])
def test_a_study_of_another_knob_has_nothing_to_compare(absent: list[str]) -> None:
    frame = study_frame().drop(absent).with_columns(pl.lit("menu").alias("asked.idle.governor"))
    assert compare_knobs(cells(frame, ["power_w", "p99_us"]), POWER, math.inf) == {}
