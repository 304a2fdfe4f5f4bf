"""Days of load minute by minute, their crowds, and what cuts a window short."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest
from bench.days.curves import CROWD_MIN, CROWDS, DAY_MIN, MINUTE_S, TRACES, MinuteCurve, read_days
from bench.days.plant import HARM_S, GuardedPlant
from bench.days.yardstick import Yardstick

from bayop.slo import Slo
from bayop.space import FREQ_MHZ, RX_USECS
from bayop.testing.plants import FakeOracle

HOURS = 48
FLAT = MinuteCurve("flat", (4e5,) * DAY_MIN)


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    for name in TRACES:
        rows = "".join(f"{hour},{1000 + 10 * hour}\n" for hour in range(HOURS))
        (tmp_path / name).write_text("hour,qps_mean\n" + rows, encoding="utf-8")
    return tmp_path


def test_days_come_from_both_traces_in_turns_and_keep_their_hours(traces: Path) -> None:
    days = read_days(traces)
    assert [day.name for day in days] == [f"cluster{c}, day {d}" for d in (1, 2) for c in (1, 2)]
    assert all(len(day.qps) == DAY_MIN for day in days)
    assert fmean(days[0].qps[60:120]) == pytest.approx(1010.0)
    assert max(abs(b - a) for a, b in zip(days[0].qps, days[0].qps[1:], strict=False)) < 1.0
    assert max(days[0].scaled_to(5e5).qps) == pytest.approx(5e5)


def test_a_flash_crowd_is_twice_the_load_from_one_minute_to_the_next() -> None:
    crowded = FLAT.with_crowds(3)
    assert crowded.crowded
    assert sorted(set(crowded.qps)) == [4e5, 8e5]
    assert crowded.qps.count(8e5) == CROWDS * CROWD_MIN
    assert crowded == FLAT.with_crowds(3) != FLAT.with_crowds(4)
    minute = crowded.qps.index(8e5)
    assert (crowded.at(minute * MINUTE_S - 1.0), crowded.at(minute * MINUTE_S)) == (4e5, 8e5)


def test_only_a_setting_that_hurts_is_cut_short() -> None:
    setting = {RX_USECS: 300, FREQ_MHZ: 2000}
    for slo, hurts in (("p99<10s", False), ("p99<1us", True)):
        plant = GuardedPlant(FakeOracle(), FLAT, Slo.parse(slo), seed=1, requests=1000)
        assert plant.measure(0.0, 60.0)["duration_s"] == 60.0, "the default's harm is nobody's setting's"
        plant.apply(setting)
        seen = plant.measure(0.0, 60.0)
        assert (seen.censored, seen["duration_s"]) == (hurts, HARM_S if hurts else 60.0)


def test_powers_between_two_loads_are_interpolated() -> None:
    yardstick = Yardstick((1e5, 2e5), (100.0, 120.0), (60.0, 70.0))
    assert yardstick.mean_w((1e5, 1.5e5, 2e5)) == pytest.approx((110.0, 65.0))
