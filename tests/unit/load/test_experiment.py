"""Scans and searches over a server whose latency is known."""

from __future__ import annotations

import pytest
from tests.support.load_results import load_result

from bayop.load.experiment import RESOLUTION, WINDOWS, Step, highest, measure, scan, search
from bayop.load.generator import Result
from bayop.load.plan import OpenLoop, Plan
from bayop.slo import Slo

PLAN = Plan(servers=("h:1",), schedule=OpenLoop.constant(1.0))
SLO = Slo.parse("p99<500us")


def server(plan: Plan) -> Result:
    """A server whose latency is inversely proportional to what is left of 100,000 requests/s."""
    assert isinstance(plan.schedule, OpenLoop)
    qps = plan.schedule.pieces[0].qps
    return load_result([1e7 / max(1e5 - qps, 1.0)] * 300)


def test_a_search_finds_the_highest_load_that_meets_the_slo() -> None:
    steps = list(search(PLAN, SLO, server))
    best = highest(steps, SLO)
    assert best is not None
    assert best.qps == pytest.approx(80_000, rel=1.5 * RESOLUTION)
    assert best.qps <= 80_000
    assert len(steps) < 20


def test_a_search_from_above_halves_first() -> None:
    best = highest(list(search(PLAN, SLO, server, first_qps=640_000)), SLO)
    assert best is not None
    assert best.qps == pytest.approx(80_000, rel=1.5 * RESOLUTION)


def test_a_search_without_an_answer_ends() -> None:
    steps = list(search(PLAN, SLO, lambda _: load_result([1000.0] * 300)))
    assert highest(steps, SLO) is None
    assert steps[-1].qps < 2


def test_windows_are_repeated_while_the_interval_contains_the_limit() -> None:
    spread = [400.0] * 98 + [480.0, 520.0]
    assert measure(PLAN, 10.0, SLO, lambda _: load_result(spread)).windows == WINDOWS
    assert measure(PLAN, 10.0, SLO, lambda _: load_result([100.0] * 300)).windows == 1


def test_a_window_that_the_generator_spoilt_is_thrown_away() -> None:
    windows = [load_result([100.0] * 300, late_us=90.0), load_result([100.0] * 300)]
    step = measure(PLAN, 10.0, SLO, lambda _: windows.pop(0))
    assert step.windows == 2
    assert step.result.counts["intended"] == 3000
    assert not step.result.problems


def test_a_scan_runs_each_load() -> None:
    steps = list(scan(PLAN, [1.0, 2.0], server))
    assert [step.qps for step in steps] == [1.0, 2.0]
    assert all(isinstance(step, Step) for step in steps)
