"""Every verb of the client against the real agent on a recorded machine."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest
from tests.support.agents import NIC, AgentProcess, Machine

from bayop import __version__
from bayop.domains import Steps
from bayop.errors import BayopError, InputError, UnsupportedError
from bayop.latency.base import Latency, Vantage
from bayop.live.agent.address import UnixAddress
from bayop.live.agent.client import AgentClient
from bayop.live.agent.messages import Change, Conditions, LatencyLimit
from bayop.live.agent.transport import ConflictError, UnreachableError
from bayop.space import Setting

FOUND_W = 120.0
"""The cap before BayOp."""


def test_it_says_what_it_does_and_what_the_machine_has(agent: AgentProcess) -> None:
    client = agent.client
    status = client.status()
    assert status.version.removesuffix("+fault-points") == __version__
    assert (status.mode, status.lease_holder, status.held) == ("apply", None, ())
    machine = client.knobs()
    allowed = {
        knob.id: {place.at: place.allowed and place.allowed.values for place in knob.places} for knob in machine.knobs
    }
    assert allowed["nic.rx_usecs"] == {"eth0": Steps(0, 1000, 2)}
    assert "idle.governor" in machine.why_missing
    energy = {reading.at: reading for reading in client.sensors() if reading.name == "energy_j"}
    assert {(r.kind, r.estimated, r.error) for r in energy.values()} == {("counter", False, None)}
    assert {finding.check: finding.status for finding in client.doctor()}["power meter"] == "ok"


def test_an_address_is_read_before_anybody_is_called() -> None:
    assert AgentClient.at("unix:/nobody/there.sock").address == UnixAddress("/nobody/there.sock")
    with pytest.raises(InputError, match="with mutual TLS"):
        AgentClient.at("https://web1")


def test_one_lease_at_a_time(agent: AgentProcess) -> None:
    client = agent.client
    lease = client.acquire("me", 5.0)
    assert client.status().lease_holder == "me"
    with pytest.raises(ConflictError, match="me"):
        client.acquire("you", 5.0)
    client.renew(lease, timeout_s=5.0)
    client.release(lease, keep=False)
    assert client.status().lease_holder is None
    with pytest.raises(ConflictError):
        client.renew(lease, timeout_s=5.0)


def test_a_preview_writes_nothing_and_needs_no_lease(agent: AgentProcess, machine: Machine) -> None:
    seen = agent.client.preview({"power.cap_w": 80})
    assert [(c.before, c.requested, c.effective) for c in seen.changes] == [(FOUND_W, 80, None)]
    assert machine.cap_w == FOUND_W
    assert agent.client.status().held == ()


@pytest.mark.parametrize(("keep", "left_w"), [(False, FOUND_W), (True, 80.0)])
def test_what_was_applied_is_restored_unless_it_is_kept(
    agent: AgentProcess, machine: Machine, *, keep: bool, left_w: float
) -> None:
    client = agent.client
    lease = client.acquire("me", 5.0)
    applied = client.apply({"power.cap_w": 80}, lease=lease)
    assert applied.setting == {"power.cap_w": 80}
    (change,) = applied.changes
    assert change == Change(change.knob, FOUND_W, 80, 80)
    assert machine.cap_w == 80.0
    assert [(held.knob, held.found, held.state) for held in client.status().held] == [(change.knob, FOUND_W, "held")]
    assert client.release(lease, keep=keep).restored == (() if keep else (change.knob,))
    assert machine.cap_w == left_w


def test_anybody_may_put_the_originals_back(agent: AgentProcess, machine: Machine) -> None:
    client = agent.client
    (change,) = client.apply({"power.cap_w": 80}, lease=client.acquire("me", 5.0)).changes
    assert client.restore().restored == (change.knob,)
    assert machine.cap_w == FOUND_W


@pytest.mark.parametrize(
    ("setting", "lease", "error"),
    [
        ({"power.cap_w": 30}, None, UnsupportedError),
        ({"power.cap_w": "much"}, None, InputError),
        ({"power.cap_w": 80, "nic.rx_usecs": 2000}, None, InputError),
        ({"power.cap_w": 80}, "another's", ConflictError),
    ],
)
def test_a_refusal_changes_nothing(
    agent: AgentProcess, machine: Machine, setting: Setting, lease: str | None, error: type[BayopError]
) -> None:
    mine = agent.client.acquire("me", 5.0)
    with pytest.raises(error):
        agent.client.apply(setting, lease=lease or mine)
    assert machine.cap_w == FOUND_W


CONDITIONS = Conditions(LatencyLimit("p99_us", 500.0, silence_s=60.0))


def test_a_hold_gives_way_when_a_push_breaks_its_condition(agent: AgentProcess, machine: Machine) -> None:
    client = agent.client
    lease = client.acquire("me", 5.0)
    assert client.holding() is None
    held = client.hold({"power.cap_w": 80}, fall_back={"power.cap_w": 100}, conditions=CONDITIONS, lease=lease)
    assert (held.setting, machine.cap_w) == ({"power.cap_w": 80}, 80.0)
    client.push(Latency({"p99_us": 499.0, "qps": 1000.0}, Vantage.CLIENT))
    hold = client.holding()
    assert hold is not None
    assert (hold.conditions, hold.fell_back, hold.latest and hold.latest.latency_us) == (CONDITIONS, None, 499.0)
    client.push(Latency({"p50_us": 501.0}, Vantage.PROBE))
    assert machine.cap_w == 100.0
    status = client.status()
    assert status.hold is not None
    assert status.hold.fell_back is not None
    assert (status.hold.fell_back.condition, status.hold.fell_back.seen) == ("latency", "p50 501 us, over 500 us")
    assert status.hold.fell_back.took_s < 1.0
    client.release(lease, keep=False)
    assert (client.holding(), machine.cap_w) == (None, FOUND_W)


def test_a_lease_lasts_as_long_as_its_holder_says(agent: AgentProcess) -> None:
    client = agent.client
    lease = client.acquire("me", 5.0)
    client.renew(lease, timeout_s=5.0, ttl_s=300.0)
    in_force = client.status().lease
    assert in_force is not None
    assert 290.0 < in_force.expires_in_s <= 300.0
    with pytest.raises(InputError, match="2 to 3600"):
        client.renew(lease, timeout_s=5.0, ttl_s=4000.0)


def test_a_hold_without_a_condition_is_refused(agent: AgentProcess, machine: Machine) -> None:
    lease = agent.client.acquire("me", 5.0)
    with pytest.raises(InputError, match="no condition"):
        agent.client.hold({"power.cap_w": 80}, fall_back={}, conditions=Conditions(), lease=lease)
    assert machine.cap_w == FOUND_W


def test_what_a_calibration_has_found_is_what_a_write_gives(agent: AgentProcess, machine: Machine) -> None:
    agent.client.store_calibration("eth0", [(10.0, 20.0), (100.0, 104.0)], holder="test")
    lease = agent.client.acquire("me", 5.0)
    assert agent.client.apply({"nic.rx_usecs": 100}, lease=lease).setting == {"nic.rx_usecs": 104}
    assert "rx_usecs = 100\n" in machine.read(NIC)


def test_a_renewal_waits_no_longer_than_it_may(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as silent:
        silent.bind(str(tmp_path / "s"))
        silent.listen()
        started = time.monotonic()
        with pytest.raises(UnreachableError, match=r"did not answer within 0\.1 s"):
            AgentClient.at(f"unix:{tmp_path}/s").renew("a lease", timeout_s=0.1)
        assert time.monotonic() - started < 5.0
