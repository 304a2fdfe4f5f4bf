"""What switchbacks say of a saving, and how often the interval covers the truth."""

from __future__ import annotations

import math
from itertools import pairwise
from random import Random
from statistics import fmean

import pytest
from bench.switchback.coverage import SCHEDULES, coverage
from hypothesis import given
from hypothesis import strategies as st

from bayop.errors import InputError
from bayop.switchback import HeldSaving, Schedule, Switchback, held_saving

watts = st.floats(1.0, 1e4)
some_switchbacks = st.lists(
    st.builds(Switchback, watts, watts, watts, st.floats(60.0, 6000.0)), min_size=1, max_size=40
)
EVEN = [Switchback(30.0, 40.0, 32.0, 600.0), Switchback(30.0, 42.0, 30.0, 600.0), Switchback(33.0, 42.0, 31.0, 600.0)]


def test_the_saving_is_the_mean_difference_with_students_interval() -> None:
    saving = held_saving(EVEN)
    # Differences of 9, 12 and 10 W: a standard deviation of 1.5275 W, and t of two degrees of freedom is 4.3027.
    assert saving.switchbacks == 3
    assert saving.value == pytest.approx(31 / 3)
    assert saving.high - saving.value == pytest.approx(4.30265 * 1.52753 / math.sqrt(3), rel=1e-5)
    assert saving.value - saving.low == pytest.approx(saving.high - saving.value)
    assert saving.reference == pytest.approx(124 / 3)
    assert saving.significant


def test_a_load_that_drifts_evenly_is_no_saving() -> None:
    drifting = [Switchback(at, at + 5.0, at + 10.0, 600.0) for at in (30.0, 80.0, 50.0)]
    assert (held_saving(drifting).value, held_saving(drifting).high) == (0.0, 0.0)


def test_each_counts_for_the_time_that_it_stands_for() -> None:
    rare, often = Switchback(30.0, 40.0, 30.0, 3000.0), Switchback(30.0, 31.0, 30.0, 600.0)
    assert held_saving([rare, *[often] * 5]).value == pytest.approx(5.5)


def test_one_switchback_has_no_interval_and_none_no_saving() -> None:
    assert (held_saving(EVEN[:1]).low, held_saving(EVEN[:1]).high) == (-math.inf, math.inf)
    assert not held_saving(EVEN[:1]).significant
    with pytest.raises(InputError, match="must come from a switchback"):
        held_saving([])


def test_switchbacks_save_nothing() -> None:
    net = HeldSaving(10.0, 5.0, 15.0, 40.0, 30).net(0.98)
    assert (net.value, net.low, net.reference) == (9.8, 4.9, 40.0)
    assert net.high == pytest.approx(14.7)


@given(some_switchbacks)
def test_what_the_setting_saves_the_default_costs(switchbacks: list[Switchback]) -> None:
    saving = held_saving(switchbacks)
    cost = held_saving([Switchback(-s.before, -s.default, -s.after, s.pause_s) for s in switchbacks])
    assert saving.low <= saving.value <= saving.high
    assert cost.value == pytest.approx(-saving.value)
    assert cost.low == pytest.approx(-saving.high)


@given(some_switchbacks, st.floats(0.01, 100.0))
def test_the_unit_of_time_does_not_matter(switchbacks: list[Switchback], scale: float) -> None:
    scaled = [Switchback(s.before, s.default, s.after, s.pause_s * scale) for s in switchbacks]
    assert held_saving(scaled).value == pytest.approx(held_saving(switchbacks).value, rel=1e-6, abs=1e-6)


SCHEDULE = Schedule(60.0, most_share=0.03, least_share=0.01, precision=0.1)


@pytest.mark.parametrize(
    ("saving", "pause_s"),
    [
        (None, 2000.0),
        (HeldSaving(10.0, 9.9, 10.1, 40.0, 11), 2000.0),  # too few to know how wide the interval is
        (HeldSaving(10.0, 5.0, 15.0, 40.0, 30), 2000.0),
        (HeldSaving(10.0, 9.25, 10.75, 40.0, 30), 60.0 / (0.03 * 0.75**2)),
        (HeldSaving(10.0, 9.9, 10.1, 40.0, 30), 6000.0),
        (HeldSaving(0.0, -1.0, 1.0, 40.0, 30), 2000.0),
        (HeldSaving(1.0, -math.inf, math.inf, 40.0, 30), 2000.0),
    ],
)
def test_switchbacks_are_fewer_when_the_interval_is_narrow(saving: HeldSaving | None, pause_s: float) -> None:
    assert SCHEDULE.pause_s(saving) == pytest.approx(pause_s)


def test_pauses_are_random_and_as_long_as_asked_on_average() -> None:
    random = Random(1)
    due = [SCHEDULE.is_due(2000.0, random) for _ in range(100_000)]
    assert fmean(due) == pytest.approx(60.0 / 2000.0, rel=0.05)
    assert fmean(now for before, now in pairwise(due) if before) == pytest.approx(0.03, abs=0.01), "without memory"


@pytest.mark.parametrize(
    "wrong",
    [{"window_s": 0.0}, {"most_share": 0.2}, {"least_share": 0.05}, {"least_share": 0.0}, {"precision": 0.0}],
)
def test_a_schedule_that_is_none_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=r"must have|must last"):
        Schedule(**({"window_s": 60.0} | wrong))


@pytest.mark.parametrize("saving_share", [0.0, 0.05, 0.2])
@pytest.mark.parametrize("name", SCHEDULES)
def test_the_interval_of_a_day_covers_the_truth_19_times_in_20(name: str, saving_share: float) -> None:
    days = coverage(saving_share, SCHEDULES[name], 1000)
    assert 0.93 <= days["covers"] <= 0.97
    assert abs(days["bias_w"]) < 0.05
    assert days["significant"] < 0.04 if saving_share == 0.0 else days["significant"] > 0.95
