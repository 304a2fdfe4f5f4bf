"""A live machine as a controller steers it: the real agent on a recorded machine, and clients that a test sets."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.agents import AgentProcess, Machine
from tests.support.services import Clients, service

from bayop.control.actions import FellBack
from bayop.daemon import plant as module
from bayop.daemon.file import DaemonFile
from bayop.daemon.plant import LivePlant
from bayop.errors import DriftError, InputError, UnsupportedError
from bayop.latency.sources import source_of
from bayop.live.agent.client import AgentClient
from bayop.live.agent.lease import Lease
from bayop.live.agent.transport import ConflictError, UnreachableError
from bayop.live.search import space_of
from bayop.measurement import Measurement
from bayop.slo import Slo

CAP = "power.cap_w"


class WantedError(Exception):
    """Somebody wants it to end."""


@pytest.fixture
def clients(tmp_path: Path) -> Clients:
    return Clients(tmp_path / "clients")


class Plants:
    """Makes plants, and lets go of their machines."""

    def __init__(self, folder: Path, agent: AgentProcess, clients: Clients) -> None:
        self.agent, self.clients, self._folder = agent, clients, folder
        self.made: list[LivePlant] = []
        self.is_wanted = False

    def make(self, more: str = "", *, mode: str = "apply") -> LivePlant:
        path = self._folder / "bayop.toml"
        path.write_text(service(self.agent, self.clients, mode=mode, more=more), encoding="utf-8")
        (file,) = DaemonFile.read(path).services
        client = AgentClient.at(self.agent.address)
        space = space_of(file.live, client).without_auto() if mode == "apply" else None
        self.made.append(LivePlant(file, client, space, holder="a test", pause=self._wait))
        return self.made[-1]

    def _wait(self, duration_s: float) -> None:
        time.sleep(min(duration_s, 0.05))
        if self.is_wanted:
            raise WantedError


@pytest.fixture
def plants(tmp_path: Path, agent: AgentProcess, clients: Clients) -> Iterator[Plants]:
    plants = Plants(tmp_path, agent, clients)
    yield plants
    for plant in plants.made:
        plant.restore()


def test_it_begins_with_the_default_and_writes_nothing(plants: Plants, machine: Machine) -> None:
    plant = plants.make()
    assert (plant.baseline["p99_us"], plant.qps, machine.cap_w) == (100, 5000, 120)
    assert plants.agent.client.status().lease is None
    assert "power measured by powercap, latency seen by the client" in plant.description


def test_a_trial_has_a_lease_of_seconds_and_a_hold_one_of_its_own(plants: Plants, machine: Machine) -> None:
    plant = plants.make("longest_s = 600")
    assert dict(plant.apply({CAP: 90})) == {CAP: 90}
    assert plant.trial()["p99_us"] == pytest.approx(177.8, rel=0.01)
    status = plants.agent.client.status()
    assert status.lease is not None
    assert status.lease.expires_in_s > 5
    assert status.hold is None
    assert dict(plant.hold({CAP: 95})) == {CAP: 95}
    status = plants.agent.client.status()
    assert status.lease is not None
    assert status.lease.expires_in_s <= 4
    assert status.hold is not None
    assert (status.hold.conditions.longest_s, status.hold.fall_back) == (600, {})
    window = plant.watch(0.5)
    assert isinstance(window, Measurement)
    assert window["duration_s"] >= 0.5
    plant.restore()
    assert machine.cap_w == 120
    plant.restore()


def test_the_load_is_that_of_the_last_window(plants: Plants) -> None:
    plant = plants.make()
    plants.clients.send(6000)
    plant.watch(0.1)
    assert plant.qps == 6000


def test_a_hold_that_fell_back_is_learned_and_let_go(plants: Plants, machine: Machine) -> None:
    plant = plants.make("device = 'eth0'\nlow_packets_per_s = 50_000\nhigh_packets_per_s = 150_000")
    plant.hold({CAP: 90})
    assert isinstance(plant.watch(1.5), Measurement)
    machine.packets_per_s = 300_000
    fell_back = plant.watch(5.0)
    assert isinstance(fell_back, FellBack)
    assert not fell_back.by_latency
    assert "eth0 receives" in (fell_back.measurement.cut_short or "")
    assert machine.cap_w == 120
    assert plants.agent.client.status().lease is None


def test_what_clients_see_is_passed_on_to_the_agents_guard(plants: Plants, machine: Machine) -> None:
    plant = plants.make("silence_s = 3\nlatency_factor = 2")
    plant.hold({CAP: 90})
    plant.watch(0.3)
    holding = plants.agent.client.holding()
    assert holding is not None
    assert holding.latest is not None
    assert holding.latest.latency_us == pytest.approx(177.8, rel=0.01)
    plants.clients.become("slow")
    fell_back = plant.watch(5.0)
    assert isinstance(fell_back, FellBack)
    assert fell_back.by_latency
    assert machine.cap_w == 120


def test_without_the_agents_guard_the_brain_cuts_a_harmful_window_short(plants: Plants) -> None:
    plant = plants.make()
    plant.hold({CAP: 90})
    plants.clients.become("slow")
    window = plant.watch(30.0)
    assert isinstance(window, Measurement)
    assert "p99 1778 us, over 600 us" in (window.cut_short or "")


def test_a_hold_is_told_anew_before_its_longest_time(plants: Plants, machine: Machine) -> None:
    plant = plants.make("longest_s = 2")
    plant.hold({CAP: 90})
    for _ in range(5):
        assert isinstance(plant.watch(0.6), Measurement)
    assert machine.cap_w == 90


def test_a_machine_that_somebody_else_has_changed_is_not_measured_as_its_default(plants: Plants) -> None:
    lease = Lease(plants.agent.client, holder="alice")
    with pytest.raises(ConflictError, match="alice holds the agent's lease"):
        plants.make()
    plants.agent.client.apply({CAP: 80}, lease=lease.token)
    lease.release(keep=True)
    with pytest.raises(ConflictError, match="a setting was left applied"):
        plants.make()
    plants.agent.client.restore()


def test_a_lease_that_somebody_ends_is_noticed_while_it_is_held(plants: Plants, machine: Machine) -> None:
    plant = plants.make()
    plant.hold({CAP: 90})
    plants.agent.client.restore()
    with pytest.raises(DriftError):
        plant.watch(10.0)
    with pytest.raises(DriftError):
        plant.restore()
    assert machine.cap_w == 120


def test_a_short_loss_of_the_agent_does_not_end_a_hold(plants: Plants, monkeypatch: pytest.MonkeyPatch) -> None:
    plant = plants.make()
    plant.hold({CAP: 90})

    def gone(_: AgentClient) -> None:
        raise UnreachableError(wrong="the network is cut")

    monkeypatch.setattr(AgentClient, "holding", gone)
    assert isinstance(plant.watch(1.2), Measurement)


@pytest.mark.parametrize("during", ["default", "trial", "hold"])
def test_whoever_wants_it_to_end_is_heard_at_once(plants: Plants, during: str) -> None:
    plant = plants.make()
    if during == "trial":
        plant.apply({CAP: 90})
    elif during == "hold":
        plant.hold({CAP: 90})
    plants.is_wanted = True
    with pytest.raises(WantedError):
        plant.watch(30.0) if during != "trial" else plant.trial()


def test_a_source_that_fails_is_an_error(plants: Plants) -> None:
    plant = plants.make()
    plants.clients.become("gone")
    with pytest.raises(InputError, match="exit code 1"):
        plant.watch(0.2)


def test_observing_needs_no_agent_that_applies(
    tmp_path: Path, agent_binary: Path, machine: Machine, clients: Clients
) -> None:
    (tmp_path / "looks").mkdir()
    with AgentProcess(agent_binary, tmp_path / "looks", machine.root, mode="observe", allow={}) as agent:
        plants = Plants(tmp_path, agent, clients)
        assert isinstance(plants.make(mode="observe").watch(0.2), Measurement)
        with pytest.raises(UnsupportedError):
            plants.make()


@pytest.mark.parametrize(
    ("latency", "step_s"),
    [("prometheus:http://127.0.0.1:9?query=vector(1)", 30.0), ("cat", 1.0)],
)
def test_nobody_wakes_to_look_at_what_can_not_have_changed(latency: str, step_s: float) -> None:
    source = source_of(latency, slo=Slo.parse("p99<200us"))
    assert module._look_s(source, 60.0) == step_s
    assert module._look_s(source, 1.0) == (0.5 if step_s == 30.0 else 0.2)
