"""What a day says, from turns and slices by hand."""

from __future__ import annotations

import json

import msgspec
import pytest

from bayop.errors import InputError
from bayop.experiments.rig.day.play import Latencies, RigDayPlan, latency_us
from bayop.experiments.rig.day.record import RigDay, RunWindow, Turn, Who
from bayop.experiments.rig.day.summary import (
    cpu_saving,
    held_share,
    last_held,
    polls_saving,
    turns_of,
    windows_of,
    work_of,
)
from bayop.load.curve import LoadCurve
from bayop.slo import Slo
from bayop.space import GRO_FLUSH_TIMEOUT_US

HOURS = 8
CPU_US: dict[Who, float] = {"default": 40.0, "bayop": 30.0}
POLLS: dict[Who, int] = {"default": 200, "bayop": 150}


@pytest.fixture
def day() -> RigDay:
    """Hours of 20 s, with 1000 requests in each turn, ten of which BayOp's have over the limit."""
    record = RigDay("a machine", "p90<500us", "power", "flat", [100.0] * HOURS, 20.0, 0, None)
    time_s = 1000.0
    for hour in range(HOURS):
        order: tuple[Who, Who] = ("default", "bayop") if hour % 2 else ("bayop", "default")
        for part, who in enumerate(order):
            start_s, time_s = time_s, time_s + 10.0
            cpu_s, polls = 1000 * (CPU_US[who] + hour) / 1e6, 10 * POLLS[who]
            over = 10 * (who == "bayop")
            record.turns.append(Turn(hour, part, who, 100.0, start_s, time_s, 300.0, 990, over, 1000, cpu_s, polls))
            if who == "bayop":
                record.windows.append(RunWindow(start_s + 1.0, 2.0, "trial", {GRO_FLUSH_TIMEOUT_US: 100}))
                record.windows.append(RunWindow(start_s + 3.0, 5.0, "hold", {GRO_FLUSH_TIMEOUT_US: 200}))
                record.windows.append(RunWindow(start_s + 8.0, 1.0, "default", None))
    return record


def test_savings_are_those_of_the_hours(day: RigDay) -> None:
    cpu, polls = cpu_saving(day), polls_saving(day)
    assert cpu is not None
    assert polls is not None
    assert (cpu.pairs, cpu.significant) == (HOURS, True)
    assert cpu.value == pytest.approx(10.0)
    assert polls.value == pytest.approx(0.5)
    assert polls.share == pytest.approx(0.25)


def test_an_hour_of_one_turn_is_no_pair(day: RigDay) -> None:
    del day.turns[1:]
    assert cpu_saving(day) is None


def test_turns_add_up(day: RigDay) -> None:
    bayop = work_of(turns_of(day, "bayop"))
    assert (bayop.requests, bayop.over) == (HOURS * 990, HOURS * 10)
    assert bayop.over_share == pytest.approx(10 / 990)
    assert bayop.cpu_us == pytest.approx(30.0 + (HOURS - 1) / 2)
    assert work_of([]).cpu_us is None


def test_what_was_held(day: RigDay) -> None:
    turn = turns_of(day, "bayop")[0]
    assert [window.phase for window in windows_of(day, turn)] == ["trial", "hold", "default"]
    assert last_held(day, turn) == {GRO_FLUSH_TIMEOUT_US: 200}
    assert held_share(day) == pytest.approx(0.5)


def test_a_record_survives_json(day: RigDay) -> None:
    assert msgspec.json.decode(json.dumps(day.to_json()), type=RigDay) == day


def test_a_quantile_counts_lost_requests_as_the_slowest() -> None:
    slices = [Latencies(10, [(100.0, 5), (200.0, 4)]), Latencies(10, [(100.0, 5), (300.0, 4)])]
    assert latency_us(slices, 0.5) == 100.0
    assert latency_us(slices, 0.9) == 300.0
    assert latency_us(slices, 0.95) is None
    assert latency_us([], 0.5) is None


def test_an_hour_must_be_long_enough_to_search_in() -> None:
    with pytest.raises(InputError, match="20 s or more"):
        RigDayPlan(LoadCurve("flat", (1.0,)), 19.0, Slo.parse("p90<500us"))
