"""Scans and searches over a server whose latency is known."""

from __future__ import annotations

import json

import pytest

from bayop import _core
from bayop.load.experiment import RESOLUTION, WINDOWS, Step, highest, measure, scan, search
from bayop.load.generator import Result, offered_qps
from bayop.load.plan import OpenLoop, Piece, Plan
from bayop.slo import Slo

PLAN = Plan(servers=("h:1",), schedule=OpenLoop.constant(1.0))
SLO = Slo.parse("p99<500us")


def report(latencies_us: list[float], *, late_us: float = 0.0, failed: int = 0) -> str:
    """A report of ten equal batches with these latencies."""
    pairs = [[round(latency * 1000), 1] for latency in sorted(latencies_us)]
    count = 10 * (len(pairs) + failed)
    return json.dumps(
        {
            "batches": [{"latency": pairs, "failed": failed}] * 10,
            "lateness": [[round(late_us * 1000), count]],
            "punctual": [[round((latency - late_us) * 1000), 10] for latency in sorted(latencies_us)],
            "counts": {
                **dict.fromkeys(_core.LoadReport.from_json(EMPTY).counts(), 0),
                "intended": count,
                "answered": 10 * len(pairs),
                "lost_timed_out": 10 * failed,
                "answers_in_time": 10 * len(pairs),
            },
            "duration_s": 1.0,
            "troubles": {},
            "ended_early": False,
            "interrupted": False,
            "samples": [],
        }
    )


_COUNTS = (
    "intended answered refused lost_closed lost_timed_out lost_garbage lost_unconnected gets misses answers_in_time "
    "bytes_sent bytes_received reconnects queued"
)
EMPTY = json.dumps(
    {
        "batches": [],
        "lateness": [],
        "punctual": [],
        "counts": dict.fromkeys(_COUNTS.split(), 0),
        "duration_s": 0.0,
        "troubles": {},
        "ended_early": False,
        "interrupted": False,
        "samples": [],
    }
)


def result(latencies_us: list[float], *, late_us: float = 0.0, failed: int = 0) -> Result:
    return Result(_core.LoadReport.from_json(report(latencies_us, late_us=late_us, failed=failed)), 1.0)


def server(plan: Plan) -> Result:
    """A server whose latency is inversely proportional to what is left of 100,000 requests/s."""
    assert isinstance(plan.schedule, OpenLoop)
    qps = plan.schedule.pieces[0].qps
    return result([1e7 / max(1e5 - qps, 1.0)] * 300)


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
    steps = list(search(PLAN, SLO, lambda _: result([1000.0] * 300)))
    assert highest(steps, SLO) is None
    assert steps[-1].qps < 2


def test_windows_are_repeated_while_the_interval_contains_the_limit() -> None:
    spread = [400.0] * 98 + [480.0, 520.0]
    assert measure(PLAN, 10.0, SLO, lambda _: result(spread)).windows == WINDOWS
    assert measure(PLAN, 10.0, SLO, lambda _: result([100.0] * 300)).windows == 1


def test_a_window_that_the_generator_spoilt_is_thrown_away() -> None:
    windows = [result([100.0] * 300, late_us=90.0), result([100.0] * 300)]
    step = measure(PLAN, 10.0, SLO, lambda _: windows.pop(0))
    assert step.windows == 2
    assert step.result.counts["intended"] == 3000
    assert not step.result.problems


def test_later_windows_add_up() -> None:
    both = result([100.0] * 10)
    both.append(result([200.0] * 30))
    assert both.duration_s == 2.0
    assert both.counts["intended"] == 400
    assert both.achieved_qps == 200


def test_lost_requests_are_the_slowest() -> None:
    seen = result([100.0] * 90, failed=10)
    p50, p99 = seen.quantiles([0.5, 0.99])
    assert p50.value_us == pytest.approx(100.0, rel=1e-3)
    assert p99.value_us is None
    assert not seen.meets(SLO)
    assert "100 without an answer in time" in seen.problems[0]


def test_a_late_generator_spoils_its_result() -> None:
    assert not result([100.0] * 10, late_us=19.0).problems
    assert "the generator was late" in result([100.0] * 10, late_us=21.0).problems[0]


def test_a_scan_runs_each_load() -> None:
    steps = list(scan(PLAN, [1.0, 2.0], server))
    assert [step.qps for step in steps] == [1.0, 2.0]
    assert all(isinstance(step, Step) for step in steps)


def test_the_offered_load_is_that_of_the_measurement() -> None:
    schedule = OpenLoop((Piece(1.0, 100.0), Piece(2.0, 300.0), Piece(9.0, 900.0)))
    assert offered_qps(Plan(servers=("h:1",), schedule=schedule, warmup_s=1.0, duration_s=4.0)) == 600.0
