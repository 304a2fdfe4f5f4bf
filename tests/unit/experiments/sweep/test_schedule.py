from __future__ import annotations

import random
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from bayop.experiments.sweep.load import Load
from bayop.experiments.sweep.plan import Plan, Trial
from bayop.experiments.sweep.repeats import Repeats
from bayop.experiments.sweep.schedule import Schedule
from bayop.measurement import Measurement

SETTINGS = [{"a.b_us": number} for number in range(7)]


def make(repeats: Repeats) -> Plan:
    return Plan.of(SETTINGS, [Load(qps=1e5)], target={}, repeats=repeats, seed=1, version="1")


def measured(trial: Trial) -> Measurement:
    """Noise that follows from the seed, and is greater the greater the setting is."""
    scatter = 0.01 * trial.cell.number * random.Random(trial.seed).gauss(0.0, 1.0)
    return Measurement({"p99_us": 100.0 * (1.0 + scatter)})


def play(
    plan: Plan, earlier: Mapping[int, Measurement], *, at_a_time: int, order: random.Random
) -> dict[int, Measurement]:
    """Runs a plan with trials that finish in any order."""
    schedule = Schedule(plan, earlier)
    windows = dict(earlier)
    running: list[Trial] = []
    while True:
        while len(running) < at_a_time and (trial := schedule.next()) is not None:
            running.append(trial)
        if not running:
            assert schedule.done == schedule.planned == len(windows)
            return windows
        trial = running.pop(order.randrange(len(running)))
        assert trial.number not in windows
        windows[trial.number] = measured(trial)
        schedule.see(trial, windows[trial.number])


def test_every_cell_is_there_once_a_round_and_rounds_follow_each_other() -> None:
    plan = make(Repeats(2, 2))
    schedule = Schedule(plan, {})
    trials = [schedule.next() for _ in range(14)]
    assert schedule.next() is None
    assert [t.repeat for t in trials if t] == [1] * 7 + [2] * 7
    first, second = [[t.cell.number for t in part if t] for part in (trials[:7], trials[7:])]
    assert sorted(first) == sorted(second) == list(range(1, 8))
    assert first != second


def test_noisy_cells_have_more_repeats() -> None:
    windows = play(make(Repeats(3, 30, "p99_us", 0.02)), {}, at_a_time=1, order=random.Random(0))
    counts = [sum(1 for number in windows if (number - 1) // 30 == cell) for cell in range(7)]
    assert counts[0] <= 5
    assert counts[-1] > 10


@given(st.integers(1, 9), st.randoms(use_true_random=False), st.data())
def test_what_is_measured_does_not_depend_on_how_many_run_at_a_time_nor_on_interruptions(
    at_a_time: int, order: random.Random, data: st.DataObject
) -> None:
    for repeats in (Repeats(2, 2), Repeats(3, 9, "p99_us", 0.03)):
        plan = make(repeats)
        whole = play(plan, {}, at_a_time=1, order=random.Random(0))
        # What a crash leaves: of every cell the first repeats, some of the first ones missing.
        sample = data.draw(st.sets(st.sampled_from(sorted(whole))))
        rest = {}
        for number in sorted(whole):
            cell, repeat = plan.place_of(number)
            before = [plan.trial(cell, r).number for r in range(1, repeat)]
            if number in sample and (repeat <= repeats.least or all(b in rest for b in before)):
                rest[number] = whole[number]
        assert play(plan, rest, at_a_time=at_a_time, order=order) == whole
