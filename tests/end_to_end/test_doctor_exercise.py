"""`bayop doctor --exercise` with the real agent: every allowed knob is set, read back and restored."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.support.agents import CAP, FOUND, NIC, AgentProcess, Machine
from tests.support.patience import eventually

from bayop.cli import main
from bayop.live.agent.lease import TTL_S

Capture = pytest.CaptureFixture[str]
CAP_KNOB, NIC_KNOB = "power.cap_w@intel-rapl:0/0", "nic.rx_usecs@eth0"


def rx_usecs(machine: Machine) -> int:
    return int(tomllib.loads(machine.read(NIC))["queue"][0]["rx_usecs"])


def test_every_allowed_knob_takes_two_values_and_has_its_own_back(
    agent: AgentProcess, machine: Machine, capsys: Capture
) -> None:
    assert main(["doctor", "--exercise", "--yes", "--agent", agent.address, "--json"]) == 0
    *events, end = map(json.loads, capsys.readouterr().out.splitlines())
    assert end == {"event": "exercised", "places": 2, "failed": []}
    by_knob = {event["knob"]: event for event in events}
    assert set(by_knob) == {CAP_KNOB, NIC_KNOB}
    for event in events:
        requests = [attempt["asked"] for attempt in event["attempts"]]
        assert len(set(requests)) == 2
        assert [attempt["effective"] for attempt in event["attempts"]] == requests
        assert event["found"] not in requests
        assert event["restored"]["effective"] == event["found"]
        assert all(0 < attempt["duration_ms"] < 5000 for attempt in event["attempts"])
    assert (machine.read(CAP), rx_usecs(machine)) == (FOUND, 30)
    assert (agent.client.status().lease_holder, agent.client.status().held) == (None, ())


def test_a_knob_that_the_kernel_refuses_is_drift(agent: AgentProcess, machine: Machine, capsys: Capture) -> None:
    (machine.root / CAP).chmod(0o444)
    assert main(["doctor", "--exercise", "--yes", "--agent", agent.address]) == 3
    output = " ".join(capsys.readouterr().out.split())
    assert "1 of 2 places did not do as they should." in output
    assert rx_usecs(machine) == 30


def test_a_calibrated_nic_may_read_back_otherwise(agent: AgentProcess, capsys: Capture) -> None:
    agent.client.store_calibration("eth0", [(10.0, 20.5), (1000.0, 1001.5)], holder="test")
    assert main(["doctor", "--exercise", "--yes", "--agent", agent.address, "--json"]) == 0
    by_knob = {event.get("knob"): event for event in map(json.loads, capsys.readouterr().out.splitlines())}
    assert by_knob[NIC_KNOB]["attempts"][0]["asked"] != by_knob[NIC_KNOB]["attempts"][0]["effective"]


@pytest.mark.parametrize("config", [{"mode": "observe"}, {"allow": {}}], ids=str)
def test_an_agent_that_may_not_write_says_so(
    agent_binary: Path, tmp_path: Path, machine: Machine, capsys: Capture, config: dict[str, Any]
) -> None:
    with AgentProcess(agent_binary, tmp_path, machine.root, **config) as agent:
        assert main(["doctor", "--exercise", "--yes", "--agent", agent.address]) == 4
    assert capsys.readouterr().out == ""


def test_without_a_terminal_somebody_has_to_say_yes(agent: AgentProcess, capsys: Capture) -> None:
    assert main(["doctor", "--exercise", "--agent", agent.address, "--json"]) == 2
    assert "there is no terminal to ask on" in capsys.readouterr().err
    assert "lease_granted" not in agent.log()


@pytest.mark.parametrize(("answer", "code", "message"), [("y", 0, "All 2 places"), ("", 1, "nothing was changed")])
def test_a_person_is_asked_first(agent: AgentProcess, answer: str, code: int, message: str) -> None:
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "bayop", "doctor", "--exercise", "--agent", agent.address]
    with subprocess.Popen(words, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        os.write(ours, f"{answer}\n".encode())
        output, errors = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == code
    assert "This writes 2 places of knobs" in errors
    assert message in output + errors
    assert ("lease_granted" in agent.log()) == (code == 0)


@pytest.mark.slow
def test_what_is_killed_in_the_middle_is_restored_by_the_lease(
    agent_binary: Path, tmp_path: Path, machine: Machine
) -> None:
    with AgentProcess(agent_binary, tmp_path, machine.root) as agent:
        words = [sys.executable, "-c", KILLED, agent.address]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "set\n"
            assert (machine.cap_w, rx_usecs(machine)) != (120.0, 30)
            process.kill()
        assert eventually(lambda: (machine.read(CAP), rx_usecs(machine)) == (FOUND, 30), within_s=TTL_S + 5)
        assert "lease_expired" in agent.log()


KILLED = """
import sys, time
from bayop.live.agent.client import AgentClient
from bayop.cli import main

apply = AgentClient.apply

def slow(*args, **kwargs):
    applied = apply(*args, **kwargs)
    print("set", flush=True)
    time.sleep(60)
    return applied

AgentClient.apply = slow
main(["doctor", "--exercise", "--yes", "--agent", sys.argv[1]])
"""
