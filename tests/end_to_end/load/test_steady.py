"""A load that is kept up on a real memcached, as a source of latency."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.servers import free_port, memcached_on

from bayop.errors import BayopError, InputError
from bayop.latency.base import Vantage, Watched, Window
from bayop.load.plan import OpenLoop, Plan, ServerError
from bayop.load.steady import SLICE_S, LoadLostError, SteadyLoad

pytestmark = [pytest.mark.slow, pytest.mark.alone]

QPS = 1000.0


@pytest.fixture
def plan() -> Iterator[Plan]:
    port = free_port()
    with memcached_on(port):
        yield Plan(
            servers=(f"127.0.0.1:{port}",), schedule=OpenLoop.constant(QPS), connections=4, blocking=True, timeout_s=0.5
        )


def test_windows_see_the_load_one_after_the_other(plan: Plan) -> None:
    with SteadyLoad(plan) as load:
        assert isinstance(load, Watched)
        assert load.qps == QPS
        for _ in range(2):
            latency = load.measure(Window({}, 1.0), sleep=time.sleep)
            assert latency.vantage is Vantage.CLIENT
            assert latency.quantities["qps"] == pytest.approx(QPS, rel=0.2)
            assert 0 < latency.quantities["p50_us"] <= latency.quantities["p99_us"]
            assert 0 < latency.relative_sd["p50_us"] < 1


def test_it_goes_on_over_the_same_connections(plan: Plan) -> None:
    with SteadyLoad(plan) as load:
        load.measure(Window({}, 4 * SLICE_S), sleep=time.sleep)
        host, port = plan.servers[0].split(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(b"stats\r\n")
            lines = connection.makefile().readlines(2000)
    (taken,) = (int(line.split()[2]) for line in lines if "total_connections" in line)
    # Its records were stored over another one, and the server was asked whether it is there.
    assert plan.connections <= taken <= plan.connections + 5


def test_while_a_window_runs_it_says_what_clients_see_in_it(plan: Plan) -> None:
    recent = []

    with SteadyLoad(plan) as load:

        def sleep(duration_s: float) -> None:
            time.sleep(duration_s)
            recent.append(load.recent())

        load.measure(Window({}, 2 * SLICE_S), sleep=sleep)
    assert recent[0] is None, "a slice that began before the window is not of it"
    assert recent[-1] is not None
    assert recent[-1].quantities["p50_us"] > 0


def test_a_sleep_that_raises_ends_the_window_and_not_the_load(plan: Plan) -> None:
    def sleep(_duration_s: float) -> None:
        raise InputError(wrong="the measurement has no meaning")

    with SteadyLoad(plan) as load:
        with pytest.raises(InputError, match="no meaning"):
            load.measure(Window({}, 1.0), sleep=sleep)
        assert load.measure(Window({}, SLICE_S), sleep=time.sleep).quantities["qps"] > 0


def test_the_load_ends_with_its_block(plan: Plan) -> None:
    with SteadyLoad(plan) as load:
        folder = Path(f"/proc/{load.pid}")
        assert folder.exists()
    assert not folder.exists()


def test_a_generator_that_is_killed_says_so(plan: Plan) -> None:
    with SteadyLoad(plan) as load:
        assert load.pid is not None
        os.kill(load.pid, signal.SIGKILL)
        with pytest.raises(LoadLostError, match="SIGKILL"):
            load.measure(Window({}, 1.0), sleep=time.sleep)


def test_a_server_that_dies_says_so() -> None:
    port = free_port()
    with memcached_on(port) as server:
        plan = Plan(servers=(f"127.0.0.1:{port}",), schedule=OpenLoop.constant(QPS), blocking=True, timeout_s=0.5)
        with SteadyLoad(plan) as load:
            server.kill()
            server.wait()
            with pytest.raises(ServerError, match=f"127.0.0.1:{port}"):
                load.measure(Window({}, 1.0), sleep=time.sleep)


@pytest.mark.parametrize(
    ("through", "kind", "message"),
    [
        (["/nowhere/ssh"], InputError, "cannot start the load generator /nowhere/ssh: no such file"),
        ([sys.executable, "-c", "raise SystemExit('no such host')"], LoadLostError, "exit code 1"),
        ([], ServerError, "cannot connect to 127.0.0.1"),
    ],
)
def test_a_load_that_can_not_begin_says_why(through: list[str], kind: type[BayopError], message: str) -> None:
    plan = Plan(servers=(f"127.0.0.1:{free_port()}",), schedule=OpenLoop.constant(QPS))
    with pytest.raises(kind, match=message), SteadyLoad(plan, through=through):
        pass
