from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from tests.support.servers import free_port

from bayop import _core
from bayop.errors import InputError
from bayop.load.http_request import HttpRequest
from bayop.load.plan import (
    PORTS,
    PRESETS,
    TLS_PORTS,
    ClosedLoop,
    Dialect,
    OpenLoop,
    Piece,
    Plan,
    Replay,
    Schedule,
    ServerError,
    ThinkingLoop,
    UntilInterval,
    Workload,
    check_distribution,
    check_popularity,
    translate,
    with_ports,
)
from bayop.load.tls import Tls

PLAN = Plan(servers=("h:1",), schedule=OpenLoop((Piece(1.0, 100.0), Piece(2.0, 200.0)), "fixed"), seed=7)


def refusal(plan: Plan) -> _core.Error:
    with pytest.raises(_core.Error) as caught:
        _core.load_run(plan.to_json())
    return caught.value


@pytest.mark.parametrize(
    ("schedule", "kind"),
    [
        (PLAN.schedule, "open"),
        (Replay((0.0, 0.5)), "replay"),
        (ClosedLoop(), "closed"),
        (ThinkingLoop(0.01), "thinking"),
    ],
)
def test_the_schedules_kind_is_told(schedule: Schedule, kind: str) -> None:
    assert json.loads(replace(PLAN, schedule=schedule).to_json())["schedule"]["kind"] == kind


def test_the_generator_reads_the_pieces_of_a_load() -> None:
    """100/s for a second, then 200/s for two, and then nothing."""
    arrivals_s = np.array(_core.load_arrivals(PLAN.to_json(), 0, 10_000)) / 1e9
    assert np.histogram(arrivals_s, bins=[0.0, 1.0, 3.0, 9.0])[0] == pytest.approx([100, 400, 0], abs=1)


def test_clients_that_think_start_in_the_middle_of_a_thought() -> None:
    """So that they do not march in step: with a fixed think time of 10 ms, evenly over it."""
    plan = replace(PLAN, schedule=ThinkingLoop(0.01, "fixed"), connections=100, depth=20)
    first_s = np.array(_core.load_arrivals(plan.to_json(), 0, 10_000)) / 1e9
    assert len(first_s) == 2000
    assert (np.diff(first_s) >= 0.0).all()
    assert np.histogram(first_s, bins=4, range=(0.0, 0.01))[0] == pytest.approx(500, abs=100)


def test_the_same_plan_at_another_load() -> None:
    other = PLAN.at(500.0)
    assert other == replace(PLAN, schedule=other.schedule)
    assert np.diff(_core.load_arrivals(other.to_json(), 0, 50)) == pytest.approx(2e6, abs=1.0)


@pytest.mark.parametrize(("schedule", "kind"), [(Replay((0.0,)), "replay"), (ClosedLoop(), "closed")])
def test_only_an_open_loop_has_a_load_to_set(schedule: Schedule, kind: str) -> None:
    with pytest.raises(InputError) as caught:
        replace(PLAN, schedule=schedule).at(500.0)
    assert caught.value.message == f"cannot use {kind!r}: a load must be that of an open loop (qps)"


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"threads": 0}, "threads"),
        ({"connections": 0}, "connections"),
        ({"depth": 0}, "depth"),
        ({"warmup_s": -1.0}, "warmup_s"),
        ({"duration_s": 0.0}, "duration_s"),
        ({"timeout_s": 0.0}, "timeout_s"),
        ({"servers": ()}, "servers"),
        ({"tls": Tls("no certificate")}, "authorities"),
        ({"schedule": OpenLoop.constant(-1.0)}, "qps"),
        ({"schedule": Replay((2.0, 1.0))}, "times_s"),
        ({"schedule": ThinkingLoop(0.0)}, "think_time_s"),
        ({"schedule": ThinkingLoop(1.0, "normal:1,1")}, "gaps"),
        ({"schedule": ThinkingLoop(1.0), "depth": 1_000_001}, "depth"),
        ({"workload": Workload(records=0)}, "records"),
        ({"workload": Workload(update=1.5)}, "update"),
        ({"workload": Workload(http=(HttpRequest(path="two words"),))}, "path"),
        ({"workload": Workload(http=(HttpRequest(headers=("Host: one", "host: two")),))}, "headers"),
        ({"workload": Workload(http=(HttpRequest(bodies=(b"1",)),))}, "method"),
        ({"workload": Workload(records=1, http=(HttpRequest(method="PUT", bodies=(b"1", b"2")),))}, "records"),
        ({"dialect": "grpc"}, "method"),
        ({"dialect": "grpc", "workload": Workload(http=(HttpRequest(method="POST"),))}, "path"),
        ({"until_interval": UntilInterval(1.5, 0.1)}, "until_interval"),
    ],
)
def test_a_plan_that_makes_no_sense_is_told_by_its_parameter(change: dict[str, object], place: str) -> None:
    error = refusal(replace(PLAN, **change))  # type: ignore[arg-type]
    ours = translate(error)
    assert isinstance(ours, InputError)
    assert (ours.place, ours.rule, ours.value) == (place, error.rule, error.value)


def test_a_server_that_refuses_is_no_bad_usage() -> None:
    server = f"127.0.0.1:{free_port()}"
    ours = translate(refusal(replace(PLAN, servers=(server,))))
    assert isinstance(ours, ServerError)
    assert ours.message == f"cannot connect to {server}: connection refused"
    assert (ours.exit_code, ours.place, ours.hint) == (1, None, None)


def test_a_distribution_is_checked_before_it_is_used() -> None:
    assert check_distribution("pareto:15,214.476,0.348238") == "pareto:15,214.476,0.348238"
    with pytest.raises(
        InputError, match="cannot use 'pareto:1': a distribution must have a known name and all of its numbers"
    ) as caught:
        check_distribution("pareto:1")
    assert "fb_key" in str(caught.value.hint)


@pytest.mark.parametrize("text", ["zipf", "zipf:-1", "often"])
def test_a_popularity_is_checked_before_it_is_used(text: str) -> None:
    assert check_popularity("zipf:0.99") == "zipf:0.99"
    with pytest.raises(
        InputError, match=f"cannot use '{text}': .* uniform, or zipf with a positive exponent"
    ) as caught:
        check_popularity(text)
    assert caught.value.hint == "for example zipf:0.99"


@pytest.mark.parametrize("dialect", PORTS)
@pytest.mark.parametrize("ports", [PORTS, TLS_PORTS])
def test_a_server_listens_where_its_protocol_expects_it_unless_it_is_said(
    dialect: Dialect, ports: Mapping[Dialect, int]
) -> None:
    port = ports[dialect]
    assert with_ports(["web1", "web1:8080", "[fe80::1]", "[fe80::1]:9"], port) == (
        f"web1:{port}", "web1:8080", f"[fe80::1]:{port}", "[fe80::1]:9",
    )  # fmt: skip


def test_the_pools_are_facebooks() -> None:
    """ETC has 30 GETs to an UPDATE; USR has keys of 16 and 21 bytes, values of two, and 99.8 % GETs."""
    etc, usr = PRESETS["etc"].workload, PRESETS["usr"].workload
    assert etc.update == pytest.approx(1.0 / 31.0)
    assert (set(_core.load_draw(usr.key_size, 1000, 0)), usr.value_size, usr.update) == ({16.0, 21.0}, "2", 0.002)


@pytest.mark.parametrize("name", PRESETS)
def test_the_generator_knows_every_pool(name: str) -> None:
    preset = PRESETS[name]
    plan = replace(PLAN, workload=preset.workload, schedule=OpenLoop.constant(1000.0, preset.gaps))
    assert np.diff(_core.load_arrivals(plan.to_json(), 0, 20_000)).mean() == pytest.approx(1e6, rel=0.05)
    assert max(_core.load_draw(preset.workload.key_size, 1000, 0)) <= 250
