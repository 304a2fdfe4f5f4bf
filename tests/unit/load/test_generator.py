from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.support.load_results import load_result
from tests.support.servers import free_port, memcached_on

from bayop.errors import InputError
from bayop.load.generator import Quantile, offered_qps, preload, run
from bayop.load.plan import ClosedLoop, OpenLoop, Piece, Plan, Replay, Schedule, ServerError, Workload
from bayop.slo import Slo

pytestmark = pytest.mark.alone

PLAN = Plan(servers=("h:1",), schedule=OpenLoop.constant(1.0))
SLO = Slo.parse("p99<500us")


def test_half_of_an_interval_is_relative_to_its_quantile() -> None:
    assert Quantile(0.99, 200.0, 190.0, 230.0).half_width == pytest.approx(0.1)


@pytest.mark.parametrize(
    "quantile", [Quantile(0.9, None, 1.0, 2.0), Quantile(0.9, 1.0, None, 2.0), Quantile(0.9, 1.0, 0.5, None)]
)
def test_without_a_value_and_both_ends_an_interval_has_no_width(quantile: Quantile) -> None:
    assert quantile.half_width is None


def test_later_windows_add_up() -> None:
    both = load_result([100.0] * 10)
    both.append(load_result([200.0] * 30))
    assert both.duration_s == 2.0
    assert both.counts["intended"] == 400
    assert both.achieved_qps == 200


def test_lost_requests_are_the_slowest() -> None:
    result = load_result([100.0] * 90, failed=10)
    p50, p99 = result.quantiles([0.5, 0.99])
    assert p50.value_us == pytest.approx(100.0, rel=1e-3)
    assert p99.value_us is None
    assert not result.meets(SLO)
    assert "100 without an answer in time" in result.problems[0]


@pytest.mark.parametrize(("slowest_us", "meets"), [(499.0, True), (501.0, False)])
def test_an_slo_is_met_below_its_limit_at_its_quantile(slowest_us: float, *, meets: bool) -> None:
    result = load_result([100.0] * 97 + [slowest_us] * 3)
    assert result.meets(SLO) is meets
    assert result.meets(Slo.parse("p95<101us"))


def test_a_late_generator_spoils_its_result() -> None:
    assert not load_result([100.0] * 10, late_us=19.0).problems
    assert "the generator was late" in load_result([100.0] * 10, late_us=21.0).problems[0]


def test_a_punctual_generator_would_have_seen_less() -> None:
    result = load_result([100.0] * 10, late_us=20.0)
    assert result.punctual_us([0.5, 0.9]) == pytest.approx({0.5: 80.0, 0.9: 80.0}, rel=1e-3)


def test_every_fate_of_a_lost_request_is_named() -> None:
    fates = {"lost_closed": 1, "lost_timed_out": 20, "lost_garbage": 300, "lost_unconnected": 4000}
    result = load_result([100.0] * 500, **fates)
    assert result.lost == 4321
    (problem,) = result.problems
    assert problem == (
        "4,321 of 5,000 requests were lost: 1 with connections that broke, 20 without an answer in time, "
        "300 to garbage, 4,000 for want of a connection"
    )


def test_errors_and_silence_are_problems() -> None:
    refused = load_result([100.0], refused=1234, intended=2000)
    assert refused.problems == ["1,234 of 2,000 requests were refused with an error"]
    assert "no request was answered" in load_result([], failed=1).problems


@pytest.mark.parametrize(("gets", "ratio"), [(0, None), (400, 0.25)])
def test_misses_are_a_share_of_the_reads(gets: int, ratio: float | None) -> None:
    assert load_result([100.0], gets=gets, misses=100).miss_ratio == ratio


def test_the_offered_load_is_that_of_the_measurement() -> None:
    schedule = OpenLoop((Piece(1.0, 100.0), Piece(2.0, 300.0), Piece(9.0, 900.0)))
    assert offered_qps(Plan(servers=("h:1",), schedule=schedule, warmup_s=1.0, duration_s=4.0)) == 600.0


@pytest.mark.parametrize(
    ("schedule", "qps"),
    [
        (OpenLoop((Piece(1.0, 100.0),)), 0.0),
        (OpenLoop((Piece(1.5, 100.0),)), 100.0),
        (Replay((0.0, 1.0)), None),
        (ClosedLoop(), None),
    ],
)
def test_what_ends_with_the_warm_up_offers_nothing_and_what_has_no_load_has_none(
    schedule: Schedule, qps: float | None
) -> None:
    assert offered_qps(replace(PLAN, schedule=schedule, warmup_s=1.0)) == qps


def test_records_are_stored_and_then_asked_for() -> None:
    with memcached_on(port := free_port()):
        plan = replace(
            PLAN.at(2000.0),
            servers=(f"127.0.0.1:{port}",),
            workload=Workload(records=50, value_size="123"),
            warmup_s=0.0,
            duration_s=0.1,
            blocking=True,
        )
        empty = run(plan)
        assert preload(plan) == {"records": 50, "value_bytes": 50 * 123}
        full = run(plan)
    assert (empty.miss_ratio, full.miss_ratio) == (1.0, 0.0)
    assert full.offered_qps == 2000.0
    assert full.counts["answered"] == full.counts["intended"] == pytest.approx(200, rel=0.4)


@pytest.mark.parametrize("ask", [preload, run])
def test_a_server_that_is_not_there_is_named(ask: Callable[[Plan], object]) -> None:
    server = f"127.0.0.1:{free_port()}"
    with pytest.raises(ServerError, match=f"cannot connect to {server}: connection refused"):
        ask(replace(PLAN, servers=(server,)))


def test_a_plan_that_makes_no_sense_is_bad_usage() -> None:
    with pytest.raises(InputError, match=r"cannot use '0': threads must be 1 to 256 \(threads\)"):
        run(replace(PLAN, threads=0))


def test_a_protocol_without_records_stores_nothing() -> None:
    assert preload(replace(PLAN, dialect="echo")) == {"records": 0, "value_bytes": 0}
