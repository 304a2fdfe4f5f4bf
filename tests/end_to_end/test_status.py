"""`bayop status` and `bayop restore` with the real agent."""

from __future__ import annotations

import json

import pytest
from tests.support.agents import CAP, FOUND, AgentProcess, Machine
from tests.support.patience import eventually

from bayop.cli import main
from bayop.live.agent.lease import Lease

Capture = pytest.CaptureFixture[str]
KNOB = "power.cap_w@intel-rapl:0/0"


def status(agent: AgentProcess, capsys: Capture) -> tuple[int, dict[str, object]]:
    code = main(["status", "--agent", agent.address, "--json"])
    (event,) = map(json.loads, capsys.readouterr().out.splitlines())
    return code, event


def keep(agent: AgentProcess) -> None:
    lease = agent.client.acquire("a test", 10.0)
    agent.client.apply({"power.cap_w": 90}, lease=lease)
    agent.client.release(lease, keep=True)


def test_a_machine_that_nobody_touched(agent: AgentProcess, capsys: Capture) -> None:
    code, event = status(agent, capsys)
    assert (code, event["mode"], event["lease"], event["held"]) == (0, "apply", None, [])
    assert event["applied_by"] is None


def test_a_lease_is_seen_by_others(agent: AgentProcess, capsys: Capture) -> None:
    lease = Lease(agent.client, holder="a test")
    _, event = status(agent, capsys)
    lease.release(keep=False)
    seen = event["lease"]
    assert isinstance(seen, dict)
    assert seen["holder"] == "a test"
    assert 0 <= seen["age_s"] < 5 < seen["ends_in_s"] <= 10


def test_what_is_kept_is_seen_and_undone(agent: AgentProcess, machine: Machine, capsys: Capture) -> None:
    keep(agent)
    code, event = status(agent, capsys)
    assert (code, event["kept"], event["lease"]) == (0, True, None)
    assert isinstance(event["applied_by"], dict)
    assert event["applied_by"]["holder"] == "a test"
    assert event["held"] == [
        {"knob": KNOB, "state": "held", "found": 120, "requested": 90, "effective": 90, "reason": None}
    ]
    assert main(["restore", "--agent", agent.address]) == 0
    assert f"restored  {KNOB}" in capsys.readouterr().out
    assert machine.read(CAP) == FOUND
    assert status(agent, capsys)[1]["held"] == []


def test_a_knob_that_somebody_else_turned_is_drift(agent: AgentProcess, machine: Machine, capsys: Capture) -> None:
    keep(agent)
    machine.write(CAP, "077000000")
    assert eventually(lambda: status(agent, capsys)[0] == 3, within_s=10)
    assert main(["status", "--agent", agent.address]) == 3
    assert "stood down" in capsys.readouterr().out
    assert main(["restore", "--agent", agent.address]) == 0
    assert "left      power.cap_w" in capsys.readouterr().out
    assert machine.cap_w == 77, "what somebody else has set is theirs"


def test_a_restore_says_whose_lease_it_ends(agent: AgentProcess, capsys: Capture) -> None:
    agent.client.acquire("a test", 60.0)
    assert main(["restore", "--agent", agent.address]) == 0
    output = capsys.readouterr().out
    assert "The lease of a test has ended with it." in output
    assert "Nothing was held" in output
