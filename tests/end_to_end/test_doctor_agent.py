"""`bayop doctor` with the real agent: its findings, and the calibration of a NIC whose driver hides what it does."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest
from tests.support.agents import LEAST_DELAY_US, NIC, AgentProcess, Machine

from bayop.cli import doctor, main
from bayop.experiments.nic_delay import measure_delays

Allow: TypeAlias = Mapping[str, str] | None
Capture: TypeAlias = pytest.CaptureFixture[str]


@contextmanager
def serving(
    binary: Path, folder: Path, *, packets_per_s: float = 1000.0, mode: str = "apply", allow: Allow = None
) -> Iterator[tuple[AgentProcess, Machine]]:
    with (
        Machine(folder / "root", packets_per_s=packets_per_s) as machine,
        AgentProcess(binary, folder, machine.root, mode=mode, allow=allow) as agent,
    ):
        yield agent, machine


def calibrate(agent: AgentProcess, *more: str) -> int:
    return main(["doctor", "--calibrate", "nic", "--agent", agent.address, "--device", "eth0", "--json", *more])


def test_the_agent_examines_its_machine(agent_binary: Path, tmp_path: Path, capsys: Capture) -> None:
    with serving(agent_binary, tmp_path) as (agent, _):
        code = main(["doctor", "--agent", agent.address, "--json"])
    *lines, verdict = map(json.loads, capsys.readouterr().out.splitlines())
    assert {f["check"]: f for f in lines}["power meter"]["status"] == "ok"
    assert (code, verdict["live"]) == (0, True)
    tune, *_ = verdict["verbs"]
    assert (tune["verb"], tune["can"]) == ("tune", True)
    assert tune["remarks"] == ["it searches nic.rx_usecs and power.cap_w", "this machine has no cpu.freq_mhz"]


def test_an_agent_that_only_looks_lets_nothing_live_run(agent_binary: Path, tmp_path: Path, capsys: Capture) -> None:
    with serving(agent_binary, tmp_path, mode="observe", allow={}) as (agent, _):
        assert main(["doctor", "--agent", agent.address]) == 4
    output = " ".join(capsys.readouterr().out.split())
    assert "tune can't: the agent is in mode observe" in output
    assert "the agent allows none of this machine's knobs" in output


def test_this_machine_s_agent_is_asked_where_one_answers(
    agent_binary: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(agent_binary, tmp_path) as (agent, _):
        monkeypatch.setattr(doctor, "SOCKET", agent.address)
        assert main(["doctor", "--json"]) == 0
    *lines, verdict = map(json.loads, capsys.readouterr().out.splitlines())
    findings = {finding["check"]: finding for finding in lines}
    assert findings["agent"]["found"] == f"{agent.address}, mode apply"
    assert "powercap" in findings["power meter"]["found"], "the recorded machine's, not ours"
    assert verdict["verbs"][0]["can"]


def test_a_calibration_finds_what_the_driver_hides_and_the_agent_uses_it(
    agent_binary: Path, tmp_path: Path, capsys: Capture
) -> None:
    with serving(agent_binary, tmp_path, packets_per_s=500_000.0) as (agent, machine):
        original = tomllib.loads(machine.read(NIC))
        assert calibrate(agent, "--values", "0,10us,50,100", "--window", "1s") == 0
        assert tomllib.loads(machine.read(NIC)) == original, "the NIC has its own setting back"
        rows = {row["requested_us"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
        assert rows[0]["effective_us"] is None, "without a delay it is the traffic that spaces interrupts"
        for requested_us, effective_us in {10: LEAST_DELAY_US, 50: 50, 100: 100}.items():
            # A busy host lets the machine's counters lag behind the clock; 10 us and 20 us stay apart all the same.
            assert rows[requested_us]["effective_us"] == pytest.approx(effective_us, rel=0.25)
        lease = agent.client.acquire("test", 5.0)
        effective = agent.client.apply({"nic.rx_usecs": 10}, lease=lease).setting["nic.rx_usecs"]
        assert effective == rows[10]["effective_us"]


def test_thin_traffic_is_told_and_nothing_is_stored(agent_binary: Path, tmp_path: Path, capsys: Capture) -> None:
    with serving(agent_binary, tmp_path, packets_per_s=2000.0) as (agent, _):
        assert calibrate(agent, "--values", "100,200", "--window", "200ms") == 1
        arguments = ["doctor", "--calibrate", "nic", "--agent", agent.address, "--device", "eth0", "--values", "100"]
        capsys.readouterr()
        assert main([*arguments, "--window", "100ms"]) == 1
    output = capsys.readouterr().out
    assert "traffic too thin" in output
    assert "Nothing was stored" in output


def test_whoever_stops_listening_early_leaves_the_nic_as_it_was(agent_binary: Path, tmp_path: Path) -> None:
    with serving(agent_binary, tmp_path) as (agent, machine):
        delays = measure_delays(agent.client, "eth0", (100.0, 200.0), window_s=0.1, settle_s=0.05, holder="a test")
        assert next(delays).requested_us == 100.0
        assert "rx_usecs = 100\n" in machine.read(NIC)
        delays.close()
        assert "rx_usecs = 30\n" in machine.read(NIC)
        assert agent.client.status().lease_holder is None


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--device", "eth7"], "the machine has no NIC eth7"),
        (["--values", "2000"], "eth0 must be set to 0us to 1ms"),
        (["--send", "nowhere.invalid:9"], "nowhere.invalid has no address (--send)"),
    ],
)
def test_bad_usage(agent_binary: Path, tmp_path: Path, capsys: Capture, more: list[str], message: str) -> None:
    with serving(agent_binary, tmp_path) as (agent, machine):
        original = machine.read(NIC)
        assert calibrate(agent, *more) == 2
        assert machine.read(NIC) == original
    captured = capsys.readouterr()
    assert [json.loads(line)["event"] for line in captured.out.splitlines()] == ["error"]
    assert message in captured.err


@pytest.mark.parametrize(("mode", "allow"), [("observe", None), ("apply", {"power.cap_w": 'places = ["*"]'})])
def test_an_agent_that_may_not_write_says_so(
    agent_binary: Path, tmp_path: Path, capsys: Capture, mode: str, allow: Allow
) -> None:
    with serving(agent_binary, tmp_path, mode=mode, allow=allow) as (agent, _):
        assert calibrate(agent) == 4
    assert "/etc/bayop/agent.toml" in capsys.readouterr().err
