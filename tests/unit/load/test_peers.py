from __future__ import annotations

import json
import socket
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
from bayop.load.peers import Coordinated, Coordinator, Measuring, serve, split_plan
from bayop.load.plan import ClosedLoop, OpenLoop, Piece, Plan, Replay, Schedule, ThinkingLoop, UntilInterval, Workload
from bayop.load.wire import Channel, PeerError, split

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


def test_peers_share_by_weight_what_the_measuring_client_leaves() -> None:
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


@pytest.mark.parametrize("schedule", [ClosedLoop(), ThinkingLoop(0.01)])
def test_in_a_closed_loop_it_sends_beside_the_peers(schedule: Schedule) -> None:
    plan = replace(PLAN, schedule=schedule)
    mine, theirs = split_plan(plan, [1.0, 9.0], Measuring())
    assert loads_qps(mine) == [1000.0]
    assert theirs == [replace(plan, seed=6), replace(plan, seed=7)]


def test_what_can_not_be_divided_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"^a replay can't be shared; several machines must send what a random process says$"
    ):
        split_plan(replace(PLAN, schedule=Replay((0.0,))), [1.0], Measuring())
    with pytest.raises(
        InputError, match=r"cannot use 4000\.0: the measuring client must send less than all \(4000\) \(measure_qps\)"
    ):
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


def test_peers_may_be_late_and_may_not_lose_requests() -> None:
    assert coordinated(everybody_late_us=299.0).problems == []
    assert "late" in coordinated(late_us=99.0).problems[0]
    assert coordinated(failed=10).problems == [
        "all clients: 100 of 1,000 requests were lost: 100 without an answer in time"
    ]


NEGATIVE = json.dumps({"report": json.loads(load_report([1.0]).to_json()) | {"duration_s": -1.0}})


@contextmanager
def peers(weights: Sequence[float], messages: list[str], *, coordinators: int = 1) -> Iterator[list[str]]:
    """Peers that serve so many coordinators each, in threads."""
    addresses = [f"127.0.0.1:{free_port()}" for _ in weights]
    there = threading.Semaphore(0)

    def on_event(what: str) -> None:
        messages.append(what)
        if what.startswith("listening"):
            there.release()

    threads = [
        threading.Thread(
            target=serve, args=(address,), kwargs={"weight": weight, "on_event": on_event, "runs": coordinators}
        )
        for address, weight in zip(addresses, weights, strict=True)
    ]
    with ExitStack() as stack:
        for thread in threads:
            thread.start()
            stack.callback(thread.join)
            there.acquire()
        yield addresses


def test_peers_send_their_parts_and_every_answer_is_counted_once() -> None:
    lines: list[str] = []
    with memcached_on(port := free_port()), peers([1.0, 3.0], lines) as addresses:
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
    for result in (first, second):
        assert result.counts["intended"] == pytest.approx(0.3 * 200.0, rel=0.5)
        assert result.everything.counts["intended"] == pytest.approx(0.3 * 2000.0, rel=0.25)
        assert result.duration_s == result.everything.duration_s == 0.3
        assert result.everything.counts["answered"] == result.everything.counts["intended"]
    assert sorted(lines[:2]) == sorted(f"listening on {address}" for address in addresses)
    assert [what.startswith("running a plan of 127.0.0.1") for what in lines[2:]] == [True] * 4


def test_a_peer_that_can_not_run_its_part_says_why() -> None:
    lines: list[str] = []
    plan = Plan(servers=(f"127.0.0.1:{free_port()}",), schedule=OpenLoop.constant(1000.0))
    with peers([2.5], lines) as (address,), Channel.connect(address) as peer:
        peer.send({"hello": True})
        assert peer.receive(5.0) == {"weight": 2.5}
        peer.send({"plan": json.loads(plan.to_json())})
        assert peer.receive(5.0) == {"ready": True}
        peer.send({"go": True})
        with pytest.raises(PeerError, match="the peer can't run its part") as caught:
            peer.receive(5.0)
    assert f"cannot connect to {plan.servers[0]}: connection refused" in caught.value.message
    assert "connection refused" in lines[-1]


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (['{"weight": 0}'], "cannot use '0': a load peer's weight must be a positive number"),
        (['{"weigth": 1}'], "cannot use 'None': a load peer's weight must be a positive number"),
        (['{"weight": 1}', "{}", '{"report": [1]}'], "this is no report of this program"),
        (['{"weight": 1}', "{}", '{"report": {"\\u001b[31m": 1}}'], "this is no report of this program"),
        (['{"weight": 1}', "{}", NEGATIVE], "it lasts -1.0 s; a duration must be 0 to 1e6 s"),
    ],
)
def test_a_peer_that_says_something_else_is_told_by_its_address(answers: list[str], said: str) -> None:
    with memcached_on(port := free_port()), socket.create_server(("127.0.0.1", 0)) as listener, ExitStack() as stack:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        plan = Plan(servers=(f"127.0.0.1:{port}",), schedule=OpenLoop.constant(1000.0), duration_s=0.1, blocking=True)

        def answer() -> None:
            peer = stack.enter_context(listener.accept()[0])
            peer.sendall("".join(f"{answer}\n" for answer in answers).encode())

        thread = threading.Thread(target=answer)
        thread.start()
        stack.callback(thread.join)
        with pytest.raises(PeerError) as caught, Coordinator([address], Measuring()) as coordinator:
            coordinator.run(plan)
    assert said in caught.value.message
    assert caught.value.message.isprintable()
    assert caught.value.place == address


@pytest.mark.parametrize("said", [b"", b'{"hello": true}\n'])
def test_whoever_says_nothing_does_not_keep_others_waiting_for_ever(
    said: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bayop.load.peers._HELLO_S", 0.3)
    monkeypatch.setattr("bayop.load.peers._IDLE_S", 0.3)
    lines: list[str] = []
    with (
        peers([2.5], lines, coordinators=2) as (address,),
        socket.create_connection(split(address)) as silent,
        Channel.connect(address) as other,
    ):
        silent.sendall(said)
        other.send({"hello": True})
        assert other.receive(5.0) == {"weight": 2.5}
        other.send({"bye": True})
    assert "did not answer in time" in lines[1]


def test_what_a_coordinator_says_is_told_without_what_a_terminal_would_obey() -> None:
    lines: list[str] = []
    with peers([1.0], lines) as (address,), Channel.connect(address) as peer:
        peer.send({"plan": {"\x1b[31mservers\n": []}})
        peer.receive(5.0)
        peer.send({"go": True})
        with pytest.raises(PeerError, match="unknown field"):
            peer.receive(5.0)
    assert "\\x1b[31mservers\\n" in lines[-1]
    assert all(line.isprintable() for line in lines)


def test_a_stop_ends_the_load_that_a_peer_sends() -> None:
    lines: list[str] = []
    with memcached_on(port := free_port()), peers([1.0], lines) as (address,), Channel.connect(address) as peer:
        plan = Plan(servers=(f"127.0.0.1:{port}",), schedule=OpenLoop.constant(100.0), duration_s=100.0, blocking=True)
        peer.send({"plan": json.loads(plan.to_json())})
        peer.receive(5.0)
        peer.send({"go": True})
        peer.send({"stop": True})
        assert peer.receive(5.0)["report"]["interrupted"]
        peer.send({"bye": True})
