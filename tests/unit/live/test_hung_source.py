"""Whatever a source of latency waits for, the machine has its own settings back when its lease is over."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

import pytest
from tests.support.agents import AgentProcess, Machine
from tests.support.patience import eventually
from tests.support.stallers import WAYS, staller

from bayop.domains import Range
from bayop.errors import BayopError, DriftError, InputError
from bayop.latency import prometheus
from bayop.latency.base import Latency, LatencySource, Vantage, Window
from bayop.latency.prometheus import PrometheusQuery
from bayop.live.agent.lease import Lease
from bayop.live.space import agent_space
from bayop.live.target import AgentTarget
from bayop.slo import Slo

CAP_W = "power.cap_w"
SLO = Slo.parse("p99<500us")
WINDOW_S = 0.2
TTL_S = 3.0
TICK_S = 1.0
"""The agent looks at its lease once a second."""


def target_of(agent: AgentProcess, source: LatencySource, *, ttl_s: float = TTL_S) -> AgentTarget:
    space = agent_space(agent.client.knobs(), only=[CAP_W], ranges={CAP_W: Range(60, 120, 5)})
    return AgentTarget(
        agent.client, space, source, holder="a test", qps=1.0, window_s=WINDOW_S, settle_s=0.01, ttl_s=ttl_s
    )


class Plugin:
    """A source that answers until it hangs; for good, where no test says how."""

    def __init__(self, hang: Callable[[Callable[[float], None]], object]) -> None:
        self.hangs = False
        self._hang = hang

    def measure(self, window: Window, *, sleep: Callable[[float], None]) -> Latency:
        sleep(window.duration_s)
        if self.hangs:
            self._hang(sleep)
        return Latency({"p99_us": 200.0}, Vantage.CLIENT)


def restored_within_s(target: AgentTarget, machine: Machine) -> float:
    """How long after its window's end a trial's cap is gone, while the search waits for it."""

    def search() -> None:
        with suppress(BayopError):
            target.measure()

    target.apply({CAP_W: 80})
    assert machine.cap_w == 80
    started = time.monotonic()
    threading.Thread(target=search, daemon=True).start()
    assert eventually(lambda: machine.cap_w == 120, within_s=30)
    return time.monotonic() - started - WINDOW_S


def test_a_source_that_hangs_in_python_loses_the_machine(agent: AgentProcess, machine: Machine) -> None:
    released = threading.Event()
    source = Plugin(lambda _sleep: released.wait())
    target = target_of(agent, source)
    source.hangs = True
    try:
        assert restored_within_s(target, machine) < TTL_S + TICK_S + 0.5
    finally:
        released.set()


@pytest.mark.parametrize("way", WAYS)
def test_a_prometheus_that_stalls_loses_the_machine(agent: AgentProcess, machine: Machine, way: str) -> None:
    with staller() as server:
        target = target_of(agent, PrometheusQuery.parse(f"{server.url}?query=1", slo=SLO))
        server.way = way
        assert restored_within_s(target, machine) < TTL_S + TICK_S + 0.5


@pytest.mark.parametrize("way", WAYS)
def test_a_prometheus_that_stalls_ends_the_search_before_that(
    agent: AgentProcess, machine: Machine, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prometheus, "GRACE_S", 0.5)
    with staller() as server, target_of(agent, PrometheusQuery.parse(f"{server.url}?query=1", slo=SLO)) as target:
        target.apply({CAP_W: 80})
        server.way = way
        started = time.monotonic()
        with pytest.raises(InputError, match=r"Prometheus has not answered within 0\.5 s"):
            target.measure()
        assert time.monotonic() - started < 2.0
    assert machine.cap_w == 120


def test_a_source_that_only_waits_is_told_when_its_time_is_over(agent: AgentProcess) -> None:
    def wait(sleep: Callable[[float], None]) -> None:
        while True:
            sleep(0.05)

    source = Plugin(wait)
    with target_of(agent, source, ttl_s=10.0) as target:
        source.hangs = True
        target.apply({CAP_W: 80})
        with pytest.raises(InputError, match=r"it still waits 6 s after a window of 0\.2 s"):
            target.measure()


def test_a_search_that_thinks_for_ever_loses_the_machine(
    agent: AgentProcess, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bayop.live.target.STEP_S", 0.2)
    target = target_of(agent, Plugin(lambda _: None))
    target.apply({CAP_W: 80})
    assert eventually(lambda: machine.cap_w == 120, within_s=0.2 + TTL_S + TICK_S + 0.5)
    with pytest.raises(DriftError, match="the agent ended the lease before the work was done"):
        target.restore()


def test_work_that_is_late_keeps_its_lease(agent: AgentProcess) -> None:
    ttl_s = 8.0  # of which more than a third is left for a busy machine's own lateness
    lease = Lease(agent.client, holder="a test", ttl_s=ttl_s)
    for _ in range(2):
        lease.expect(0.1)
        time.sleep(0.1 + ttl_s / 2)
    lease.release(keep=False)
