from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.load_results import load_report, load_result
from tests.support.servers import free_port, memcached_on

from bayop.errors import InputError
from bayop.load.agents import Coordinated, Coordinator, Measuring, serve, split_plan
from bayop.load.plan import ClosedLoop, OpenLoop, Piece, Plan, Replay, UntilInterval, Workload
from bayop.load.wire import AgentError, Channel

PLAN = Plan(
    servers=("h:1",),
    schedule=OpenLoop((Piece(1.0, 4000.0), Piece(2.0, 8000.0)), "fixed"),
    connections=8,
    depth=4,
    save_samples=True,
    until_interval=UntilInterval(0.99, 0.1),
    seed=5,
)


def loads_qps(plan: Plan) -> list[float]:
    assert isinstance(plan.schedule, OpenLoop)
    return [piece.qps for piece in plan.schedule.pieces]


def test_agents_share_by_weight_what_the_measuring_client_leaves() -> None:
    mine, (light, heavy) = split_plan(PLAN, [1.0, 3.0], Measuring())
    assert loads_qps(mine) == pytest.approx([400.0, 400.0]), "a tenth of the least"
    assert loads_qps(light) == pytest.approx([900.0, 1900.0])
    assert loads_qps(heavy) == pytest.approx([2700.0, 5700.0])
    assert isinstance(light.schedule, OpenLoop)
    assert (light.schedule.gaps, [piece.duration_s for piece in light.schedule.pieces]) == ("fixed", [1.0, 2.0])


@given(
    st.lists(st.floats(10.0, 1e6), min_size=1, max_size=5),
    st.lists(st.floats(0.1, 10.0), min_size=1, max_size=5),
    st.none() | st.floats(0.1, 9.0),
)
def test_nothing_of_the_load_is_lost(qps: list[float], weights: list[float], measure_qps: float | None) -> None:
    plan = replace(PLAN, schedule=OpenLoop(tuple(Piece(1.0, q) for q in qps)))
    mine, theirs = split_plan(plan, weights, Measuring(qps=measure_qps))
    parts = [loads_qps(part) for part in (mine, *theirs)]
    assert [sum(piece) for piece in zip(*parts, strict=True)] == pytest.approx(qps)
    assert all(q > 0.0 for part in parts for q in part)


def test_the_measuring_client_sends_at_most_a_thousand_a_second_unless_it_is_said() -> None:
    assert loads_qps(split_plan(PLAN.at(1e6), [1.0], Measuring())[0]) == [1000.0]
    assert loads_qps(split_plan(PLAN.at(1e6), [1.0], Measuring(qps=5000.0))[0]) == [5000.0]


def test_only_the_measuring_client_keeps_samples_and_ends_early() -> None:
    mine, (first, second) = split_plan(PLAN, [1.0, 1.0], Measuring(connections=2))
    assert (mine.save_samples, mine.until_interval, mine.connections, mine.depth) == (
        True,
        PLAN.until_interval,
        2,
        None,
    )
    assert {(p.save_samples, p.until_interval, p.connections, p.depth) for p in (first, second)} == {
        (False, None, 8, 4)
    }
    assert {mine.seed, first.seed, second.seed} == {5, 6, 7}


def test_in_a_closed_loop_it_sends_beside_the_agents() -> None:
    plan = replace(PLAN, schedule=ClosedLoop())
    mine, theirs = split_plan(plan, [1.0, 9.0], Measuring())
    assert loads_qps(mine) == [1000.0]
    assert theirs == [replace(plan, seed=6), replace(plan, seed=7)]


def test_what_can_not_be_divided_is_refused() -> None:
    with pytest.raises(
        InputError,
        match=r"a replay can't be shared; several machines must send what a random process says \(--with-agent\)",
    ):
        split_plan(replace(PLAN, schedule=Replay((0.0,))), [1.0], Measuring())
    with pytest.raises(InputError, match=r"cannot use 4000\.0: the measuring client must send less than all \(4000\)"):
        split_plan(PLAN, [1.0], Measuring(qps=4000.0))


def coordinated(*, late_us: float = 0.0, everybody_late_us: float = 0.0, failed: int = 0) -> Coordinated:
    measured = load_report([100.0] * 10, late_us=late_us)
    return Coordinated(measured, load_result([300.0] * 90, late_us=everybody_late_us, failed=failed, offered_qps=900.0))


def test_latency_is_the_measuring_clients_and_throughput_everybodys() -> None:
    both = coordinated()
    assert both.quantiles([0.5])[0].value_us == pytest.approx(100.0, rel=1e-3)
    assert (both.offered_qps, both.achieved_qps) == (900.0, 900.0)
    both.append(coordinated())
    assert (both.counts["answered"], both.everything.counts["answered"]) == (200, 1800)


def test_agents_may_be_late_and_may_not_lose_requests() -> None:
    assert coordinated(everybody_late_us=299.0).problems == []
    assert "late" in coordinated(late_us=99.0).problems[0]
    assert coordinated(failed=10).problems == [
        "all clients: 100 of 1,000 requests were lost: 100 without an answer in time"
    ]


@contextmanager
def agents(weights: Sequence[float], said: list[str]) -> Iterator[list[str]]:
    """Agents that serve one coordinator each, in threads."""
    addresses = [f"127.0.0.1:{free_port()}" for _ in weights]
    there = threading.Semaphore(0)

    def on_event(what: str) -> None:
        said.append(what)
        if what.startswith("listening"):
            there.release()

    threads = [
        threading.Thread(target=serve, args=(address,), kwargs={"weight": weight, "on_event": on_event, "runs": 1})
        for address, weight in zip(addresses, weights, strict=True)
    ]
    with ExitStack() as stack:
        for thread in threads:
            thread.start()
            stack.callback(thread.join)
            there.acquire()
        yield addresses


def test_agents_send_their_parts_and_every_answer_is_counted_once() -> None:
    said: list[str] = []
    with memcached_on(port := free_port()), agents([1.0, 3.0], said) as addresses:
        plan = Plan(
            servers=(f"127.0.0.1:{port}",),
            schedule=OpenLoop.constant(2000.0),
            workload=Workload(records=10),
            warmup_s=0.0,
            duration_s=0.3,
            blocking=True,
        )
        with Coordinator(addresses, Measuring()) as coordinator:
            first, second = coordinator.run(plan), coordinator.run(plan)
    for seen in (first, second):
        assert seen.counts["intended"] == pytest.approx(0.3 * 200.0, rel=0.5)
        assert seen.everything.counts["intended"] == pytest.approx(0.3 * 2000.0, rel=0.25)
        assert seen.duration_s == seen.everything.duration_s == 0.3
        assert seen.everything.counts["answered"] == seen.everything.counts["intended"]
    assert sorted(said[:2]) == sorted(f"listening on {address}" for address in addresses)
    assert [what.startswith("running a plan of 127.0.0.1") for what in said[2:]] == [True] * 4


def test_an_agent_that_can_not_run_its_part_says_why() -> None:
    said: list[str] = []
    plan = Plan(servers=(f"127.0.0.1:{free_port()}",), schedule=OpenLoop.constant(1000.0))
    with agents([2.5], said) as (address,), Channel.connect(address) as agent:
        agent.send({"hello": True})
        assert agent.receive(5.0) == {"weight": 2.5}
        agent.send({"plan": json.loads(plan.to_json())})
        assert agent.receive(5.0) == {"ready": True}
        agent.send({"go": True})
        with pytest.raises(AgentError, match="the load agent can't run its part") as caught:
            agent.receive(5.0)
    assert f"cannot connect to {plan.servers[0]}: connection refused" in caught.value.message
    assert "connection refused" in said[-1]


def test_a_stop_ends_the_load_that_an_agent_sends() -> None:
    said: list[str] = []
    with memcached_on(port := free_port()), agents([1.0], said) as (address,), Channel.connect(address) as agent:
        plan = Plan(servers=(f"127.0.0.1:{port}",), schedule=OpenLoop.constant(100.0), duration_s=100.0, blocking=True)
        agent.send({"plan": json.loads(plan.to_json())})
        agent.receive(5.0)
        agent.send({"go": True})
        agent.send({"stop": True})
        assert agent.receive(5.0)["report"]["interrupted"]
        agent.send({"bye": True})
