"""A live machine as a target: the real agent on a recorded machine, with clients that say what a test wants."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Timer

import pytest
from tests.support.agents import CAP, NIC, AgentProcess, Machine
from tests.support.patience import eventually

from bayop.domains import Range
from bayop.errors import DriftError, InputError, UnsupportedError
from bayop.latency.base import Latency, Vantage, Window
from bayop.live.agent.transport import ConflictError
from bayop.live.patience import Patience
from bayop.live.space import agent_space
from bayop.live.target import AgentTarget
from bayop.space import AUTO, RX_USECS, Setting

CAP_W = "power.cap_w"
RANGES = {CAP_W: Range(60, 120, 5), RX_USECS: Range(10, 100, 90)}


class Clients:
    """Clients to whom every setting is the same; `meanwhile` happens while they look."""

    def __init__(self, quantities: Mapping[str, float] | None = None) -> None:
        self.quantities = {"p99_us": 200.0, "qps": 1000.0} if quantities is None else quantities
        self.meanwhile: Callable[[], object] = lambda: None

    def measure(self, window: Window, *, sleep: Callable[[float], None]) -> Latency:
        sleep(window.duration_s)
        self.meanwhile()
        return Latency(self.quantities, Vantage.CLIENT)


def target_of(
    agent: AgentProcess,
    clients: Clients | None = None,
    *,
    knob: str = CAP_W,
    qps: float | None = None,
    patience: Patience | None = None,
) -> AgentTarget:
    space = agent_space(agent.client.knobs(), only=[knob], ranges={knob: RANGES[knob]})
    return AgentTarget(
        agent.client, space, clients or Clients(), holder="a test", qps=qps, window_s=0.1, settle_s=0.02,
        patience=patience,
    )  # fmt: skip


def delay_us(machine: Machine) -> object:
    return tomllib.loads(machine.read(NIC))["queue"][0]["rx_usecs"]


def test_the_default_is_measured_before_anything_is_applied(agent: AgentProcess, machine: Machine) -> None:
    target = target_of(agent)
    assert target.baseline()["power_w"] == pytest.approx(120, rel=0.3)
    assert agent.client.status().lease_holder is None
    assert machine.cap_w == 120
    assert target.description == (
        f"the machine at {agent.client.address} (power measured by powercap, latency seen by the client)"
    )
    assert (target.qps, target.vantage, target.estimated) == (1000.0, "client", frozenset())


def test_a_setting_is_written_measured_and_taken_back(agent: AgentProcess, machine: Machine) -> None:
    with target_of(agent) as target:
        assert dict(target.apply({CAP_W: 80})) == {CAP_W: 80}
        assert machine.cap_w == 80
        assert agent.client.status().lease_holder == "a test"
        assert target.measure()["power_w"] == pytest.approx(80, rel=0.3)
        assert dict(target.apply({CAP_W: AUTO})) == {CAP_W: AUTO}
        assert machine.cap_w == 120
        target.apply({CAP_W: 60})
    assert machine.cap_w == 120
    assert agent.client.status().lease_holder is None


def test_an_error_takes_the_setting_back(agent: AgentProcess, machine: Machine) -> None:
    def fail() -> None:
        with target_of(agent) as target:
            target.apply({CAP_W: 80})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert machine.cap_w == 120


def test_it_can_be_restored_more_than_once_and_go_on(agent: AgentProcess, machine: Machine) -> None:
    target = target_of(agent)
    target.restore()
    target.apply({CAP_W: 80})
    target.restore()
    target.restore()
    assert machine.cap_w == 120
    target.apply({CAP_W: 70})
    assert machine.cap_w == 70
    target.restore()


def test_what_is_kept_stays_applied_without_a_lease(agent: AgentProcess, machine: Machine) -> None:
    target = target_of(agent)
    target.apply({CAP_W: 80})
    target.keep()
    assert machine.cap_w == 80
    assert agent.client.status().lease_holder is None
    target.restore()
    assert machine.cap_w == 80, "there is nothing that this target still holds"
    agent.client.restore()
    assert machine.cap_w == 120


def test_a_trial_that_a_hypervisor_spoils_begins_anew_once_the_processors_are_back(
    agent: AgentProcess, machine: Machine
) -> None:
    clients, caps_w = Clients(), list[float]()

    def give_back() -> None:
        caps_w.append(machine.cap_w)
        machine.stolen = 0.0

    def meanwhile() -> None:
        if not caps_w:
            Timer(1.0, give_back).start()
        caps_w.append(machine.cap_w)

    with target_of(agent, clients, patience=Patience(0.98, 20.0)) as target:
        target.apply({CAP_W: 80})
        machine.stolen, clients.meanwhile = 0.5, meanwhile
        measured = target.measure()
    assert measured["stolen"] <= 0.01
    assert caps_w == [80, 120, 80], "the default is in effect while it waits"
    assert target.doubts == ["the hypervisor took more than 1 % of the processors' time in a trial, measured again"]


def test_a_trial_counts_as_it_is_once_patience_is_over(agent: AgentProcess, machine: Machine) -> None:
    machine.stolen = 0.5
    with target_of(agent, patience=Patience(0.98, 1.0)) as target:
        assert target.baseline()["stolen"] == pytest.approx(0.5, abs=0.2)
        target.apply({CAP_W: 80})
        assert target.measure()["stolen"] == pytest.approx(0.5, abs=0.2)
        assert machine.cap_w == 80
    again, kept = target.doubts
    assert again.endswith("in a trial, measured again")
    assert "in 2 trials, whose latency is also its doing" in kept


def test_what_is_in_effect_can_be_applied_again(agent: AgentProcess, machine: Machine) -> None:
    agent.client.store_calibration("eth0", [(10.0, 20.5), (100.0, 101.5)], holder="test")
    with target_of(agent, knob=RX_USECS) as target:
        assert dict(target.apply({RX_USECS: 10})) == {RX_USECS: 20.5}
        assert dict(target.apply({RX_USECS: 100})) == {RX_USECS: 101.5}
        assert dict(target.apply({RX_USECS: 20.5})) == {RX_USECS: 20.5}
        assert delay_us(machine) == 10
        with pytest.raises(InputError, match=r"nic\.rx_usecs must be"):
            target.apply({RX_USECS: 20})
    assert delay_us(machine) == 30


@pytest.mark.parametrize("setting", [{CAP_W: 61}, {CAP_W: 125}, {RX_USECS: 10}, {}])
def test_a_setting_outside_the_space_changes_nothing(agent: AgentProcess, machine: Machine, setting: Setting) -> None:
    target = target_of(agent)
    with pytest.raises(InputError):
        target.apply(setting)
    assert machine.cap_w == 120
    assert agent.client.status().lease_holder is None


def test_the_load_is_what_is_said_else_what_clients_see(agent: AgentProcess) -> None:
    assert target_of(agent, qps=700.0).qps == 700.0
    blind = Clients({"p99_us": 200.0})
    assert target_of(agent, blind, qps=700.0).qps == 700.0
    with pytest.raises(InputError, match="the offered load is not known") as caught:
        target_of(agent, blind)
    assert caught.value.place == "load"
    assert caught.value.hint == "say it, or let the source of latency count it"


def test_what_the_first_window_shows_is_what_it_measures(agent: AgentProcess) -> None:
    quantities = target_of(agent, Clients({"p50_us": 90.0, "qps": 5.0})).quantities
    assert {"power_w", "energy_j", "duration_s", "p50_us", "qps"} <= quantities
    assert "p99_us" not in quantities


def test_a_knob_that_somebody_else_changes_ends_the_search(agent: AgentProcess, machine: Machine) -> None:
    clients = Clients()
    with target_of(agent, clients) as target:
        target.apply({CAP_W: 80})

        def rival() -> None:
            machine.write(CAP, "110000000")
            # The agent looks once a second.
            assert eventually(lambda: agent.client.status().held[0].state != "held", within_s=10)

        clients.meanwhile = rival
        with pytest.raises(DriftError, match="somebody else changed") as caught:
            target.measure()
        assert caught.value.value == "power.cap_w@intel-rapl:0/0"
        assert "bayop doctor" in str(caught.value.hint)
    assert machine.cap_w == 110, "what somebody else has set is theirs"


def test_a_lease_that_was_lost_ends_the_search(agent: AgentProcess, machine: Machine) -> None:
    target = target_of(agent)
    target.apply({CAP_W: 80})
    agent.client.restore()
    with pytest.raises(DriftError):
        target.apply({CAP_W: 70})
    assert machine.cap_w == 120
    with pytest.raises(DriftError, match="the agent ended the lease before the work was done"):
        target.restore()


def test_one_machine_has_one_writer(agent: AgentProcess, machine: Machine) -> None:
    with target_of(agent) as first:
        first.apply({CAP_W: 80})
        with pytest.raises(ConflictError):
            target_of(agent).apply({CAP_W: 70})
        assert machine.cap_w == 80


def test_an_estimate_is_said_to_be_one(agent_binary: Path, tmp_path: Path, machine: Machine) -> None:
    model = '[power]\nmeter = "model"\n[power.model]\nidle_w = 20\nbusy_w = 80\n'
    with AgentProcess(agent_binary, tmp_path, machine.root, more=model) as agent:
        target = target_of(agent)
        assert target.estimated == {"energy_j", "power_w"}
        assert "(power estimated by " in target.description


@pytest.mark.parametrize("mode", ["observe", "advise"])
def test_an_agent_that_only_looks_is_refused(agent_binary: Path, tmp_path: Path, machine: Machine, mode: str) -> None:
    with (
        AgentProcess(agent_binary, tmp_path, machine.root, mode=mode) as agent,
        pytest.raises(UnsupportedError, match="the agent must be in mode apply"),
    ):
        target_of(agent)
