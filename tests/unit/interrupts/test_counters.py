from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.interrupt_logs import LINES, write_lines

from bayop.interrupts.batch import BadRecordError
from bayop.interrupts.counters import advance
from bayop.interrupts.intlog import layout_of
from bayop.interrupts.log import open_log
from bayop.interrupts.numbers import describe
from bayop.interrupts.query import summarise

LAYOUT = layout_of(16, tsc_hz=1_000_000_000, energy_unit_j=1e-3)
ROWS = np.array([10, 20, 30])
MS = 1_000_000
"""Ticks of LAYOUT."""


def test_the_energy_counter_wraps_at_32_bits(tmp_path: Path) -> None:
    numbers = describe(summarise(open_log(write_lines(tmp_path / "log", LINES))))
    counters = numbers["counters"]
    assert isinstance(counters, dict)
    assert counters["energy_j"] == 300 * 2.0**-16
    assert counters["utilization"] == pytest.approx(1.0)


def test_the_counters_of_the_pmu_wrap_at_48_bits(tmp_path: Path) -> None:
    lines = list(LINES)
    lines[1] = lines[1].replace(" 1000000 ", f" {2**48 - 300_000} ")
    lines[4] = lines[4].replace(" 1700000 ", " 400000 ")
    assert summarise(open_log(write_lines(tmp_path / "log", lines))).totals["instructions"] == 700_000


@given(st.sampled_from(["instructions", "cycles", "ref_cycles", "llc_misses"]), st.integers(0, 2**48 - 1), st.data())
def test_steps_are_found_again_wherever_the_counter_wraps(column: str, start: int, data: st.DataObject) -> None:
    # A core that runs at 5 GHz for 100 ms.
    steps = data.draw(st.lists(st.integers(0, 500_000_000), min_size=1, max_size=8))
    values = (start + np.cumsum([0, *steps])) % 2**48
    ticks = np.full(len(steps), 100 * MS)
    assert advance(LAYOUT, column, values, ticks, np.arange(len(values))).tolist() == steps


@pytest.mark.parametrize(
    ("column", "most"),
    [
        # A millisecond, and another one because an interval is not exact.
        ("instructions", 200_000_000),
        ("cycles", 20_000_000),
        ("ref_cycles", 20_000_000),
        ("llc_misses", 20_000_000),
        ("energy_units", 20_000),
    ],
)
def test_a_step_is_what_a_machine_can_make_in_the_time(column: str, most: int) -> None:
    ticks = np.array([MS, MS])
    assert advance(LAYOUT, column, np.array([0, 5, 5 + most]), ticks, ROWS).tolist() == [5, most]
    with pytest.raises(
        BadRecordError, match=f"{column} must not run backwards, nor faster than a machine can"
    ) as caught:
        advance(LAYOUT, column, np.array([0, 5, 6 + most]), ticks, ROWS)
    error = caught.value
    assert (error.row, error.column, error.value) == (30, column, 6 + most)
    assert error.hint == "the sample before has 5"


def test_a_counter_that_can_not_wrap_runs_backwards() -> None:
    endless = replace(LAYOUT, counter_bits=None)
    with pytest.raises(BadRecordError) as caught:
        advance(endless, "cycles", np.array([1000, 999, 2000]), np.array([MS, MS]), ROWS)
    assert (caught.value.row, caught.value.value) == (20, 999)


def test_entries_into_idle_states_may_come_at_any_rate_and_not_go_back() -> None:
    ticks = np.array([1, 1])
    assert advance(LAYOUT, "c7", np.array([0, 10**12, 10**12]), ticks, ROWS).tolist() == [10**12, 0]
    with pytest.raises(BadRecordError, match="c7 must not run backwards, nor faster than a machine can"):
        advance(LAYOUT, "c7", np.array([5, 5, 4]), ticks, ROWS)


def test_entries_since_the_record_before_are_steps_already() -> None:
    ebbrt = layout_of(14, tsc_hz=None, energy_unit_j=None)
    assert advance(ebbrt, "c7", np.array([9, 3, 2]), np.array([1, 1]), ROWS).tolist() == [3, 2]
    assert advance(ebbrt, "cycles", np.array([9, 9, 11]), np.array([1, 1]), ROWS).tolist() == [0, 2]
