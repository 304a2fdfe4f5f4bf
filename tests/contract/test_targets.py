"""Every target keeps the contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.agents import AgentProcess, Machine
from tests.support.needs import need
from tests.support.studies import write_study

from bayop.domains import Choices, Range, Steps
from bayop.experiments.rig.namespaces import Rig
from bayop.latency.base import Latency, Vantage, Window
from bayop.live.file import LiveFile
from bayop.live.precision import Precision
from bayop.live.search import space_of
from bayop.live.space import agent_space
from bayop.live.target import AgentTarget
from bayop.live.trial_guard import TrialGuard
from bayop.load.steady import SteadyLoad
from bayop.recorded.rows import study_target
from bayop.slo import Slo
from bayop.space import Knob, Space
from bayop.target.base import Target
from bayop.target.own_knob import OwnKnobTarget
from bayop.testing.fakes import FakeServer
from bayop.testing.targets import TargetContract
from bayop.twin.profile_library import load_profile
from bayop.twin.target import TwinTarget


class TestFake(TargetContract):
    def make(self, *, seed: int) -> Target:
        return FakeServer(seed=seed)


class TestFakeWithOtherKnobs(TargetContract):
    def make(self, *, seed: int) -> Target:
        governor = Knob("idle.governor", Choices(("menu", "teo")))
        return FakeServer(Space((governor, Knob("power.cap_w", Steps(60, 120, 5), auto=True))), seed=seed)


class TestOwnKnobOfAFunction(TargetContract):
    def make(self, *, seed: int) -> Target:
        threads = Knob("app.threads", Choices((2, 4, 8)))
        return OwnKnobTarget(FakeServer(seed=seed), threads, lambda _: None, before=4)


class TestOwnKnobOfACommand(TargetContract):
    def make(self, *, seed: int) -> Target:
        timeout = Knob("app.idle_timeout_ms", Steps(10, 1000, 10), safest="high")
        return OwnKnobTarget(FakeServer(seed=seed), timeout, "test -n $BAYOP_VALUE", before=100)


class TestPublishedStudy(TargetContract):
    @pytest.fixture(autouse=True)
    def _locate(self, data: Path) -> None:
        self.path = data / "study_memcached.csv"

    def make(self, *, seed: int) -> Target:
        return study_target(self.path, os="linux", qps=600_000.0, seed=seed)


class TestPublishedStudyWithoutDefault(TargetContract):
    @pytest.fixture(autouse=True)
    def _locate(self, data: Path) -> None:
        self.path = data / "study_memcached.csv"

    def make(self, *, seed: int) -> Target:
        return study_target(self.path, os="ebbrt", qps=200_000.0, seed=seed)


class TestSmallStudy(TargetContract):
    """The fewest columns and points that a study may have."""

    @pytest.fixture(autouse=True)
    def _write(self, tmp_path: Path) -> None:
        self.path = write_study(tmp_path / "study.csv")

    def make(self, *, seed: int) -> Target:
        return study_target(self.path, os="linux", qps=1000.0, seed=seed)


class TestTwin(TargetContract):
    def make(self, *, seed: int) -> Target:
        return TwinTarget(load_profile("ebbrt-memcached"), qps=200_000.0, seed=seed, requests=20_000)


class TestTwinWithGovernors(TargetContract):
    def make(self, *, seed: int) -> Target:
        return TwinTarget(load_profile("linux-silo"), qps=50_000.0, seed=seed, requests=8_000)


class FixedLatency:
    """Clients to whom every setting is the same."""

    def measure(self, window: Window, *, sleep: Callable[[float], None]) -> Latency:
        sleep(window.duration_s)
        return Latency({"p99_us": 200.0, "qps": 1000.0}, Vantage.CLIENT)


@pytest.fixture(scope="class")
def loaded(agent_binary: Path) -> Iterator[tuple[Rig, SteadyLoad]]:
    """A rig and the load on it; one for all tests, because only the target has a state that they could change."""
    need("namespaces", "memcached")
    with Rig(agent_binary, qps=2000.0, window_s=0.25) as rig:
        load = LiveFile.read(rig.file).load
        assert load is not None
        with SteadyLoad(load.plan, through=load.through) as steady:
            yield rig, steady


@pytest.mark.slow
@pytest.mark.alone
class TestLive(TargetContract):
    """The real agent, memcached, load and kernel, with a guard and repeated windows."""

    repeatable = False

    @pytest.fixture(autouse=True)
    def _serve(self, loaded: tuple[Rig, SteadyLoad]) -> None:
        self.rig, self.load = loaded

    def make(self, *, seed: int) -> Target:
        del seed
        slo = Slo.parse("p90<10s")
        return AgentTarget(
            self.rig.client,
            space_of(LiveFile.read(self.rig.file), self.rig.client),
            self.load,
            holder="contract",
            qps=self.load.qps,
            window_s=0.25,
            settle_s=0.05,
            precision=Precision(slo.quantity, 0.1, 2),
            # The load of a slice is a Poisson process: in a quarter of a second it varies.
            guard=lambda _: TrialGuard(slo, load_band=0.9),
        )


class TestAgent(TargetContract):
    """The real agent on a recorded machine whose power meter runs."""

    repeatable = False

    @pytest.fixture(autouse=True)
    def _serve(self, agent_binary: Path, tmp_path: Path) -> Iterator[None]:
        with Machine(tmp_path / "root") as machine, AgentProcess(agent_binary, tmp_path, machine.root) as agent:
            self.agent = agent
            yield

    def make(self, *, seed: int) -> Target:
        del seed
        space = agent_space(self.agent.client.knobs(), only=["power.cap_w"], ranges={"power.cap_w": Range(60, 120, 5)})
        return AgentTarget(self.agent.client, space, FixedLatency(), holder="contract", window_s=0.2, settle_s=0.05)
