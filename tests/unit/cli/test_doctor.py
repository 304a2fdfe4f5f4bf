"""`bayop doctor` on this machine, and what it refuses; with an agent it is tested end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bayop import _core
from bayop.agent.messages import Finding
from bayop.cli import doctor, main


def test_the_exit_code_says_whether_something_blocks(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["doctor", "--json"])
    findings = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {"kernel", "agent"} <= {finding["check"] for finding in findings}
    assert code == (4 if any(finding["status"] == "blocker" for finding in findings) else 0)


def test_people_get_every_check_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    findings = [
        Finding("kernel", "ok", "6.18", "reason of kernel", None),
        Finding("rival tuned", "note", "active", "it turns the same knobs", "stop it"),
        Finding("power meter", "missing", "none", "nothing measures", "give [power.model] in agent.toml"),
        Finding("knobs", "blocker", "none", "there is nothing to tune", None),
    ]
    doctor._show(findings)
    printed = " ".join(capsys.readouterr().out.split())
    for text in ("6.18", "stop it", "give [power.model]", "there is nothing to tune", "until this is solved: knobs."):
        assert text in printed
    assert "reason of kernel" not in printed
    doctor._show(findings[:3])
    assert "Nothing keeps BayOp from working here." in capsys.readouterr().out


def test_a_narrow_terminal_loses_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    file = "/sys/devices/system/cpu/cpu0/cpuidle/state1/disable"
    doctor._show([Finding("knob napi.irq_suspend_timeout_us", "missing", file, "", None)])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60
    assert "…" not in "".join(lines)
    letters = "".join(lines)
    assert all(letters.count(sign) == file.count(sign) for sign in "/0123456789")


def test_a_recorded_machine_can_be_examined(tmp_path: Path) -> None:
    findings = _core.examine(root=tmp_path)
    assert [finding["status"] for finding in findings] == ["blocker"], "an empty folder is no Linux"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--device", "eth0"], "--device: only a calibration has this flag"),
        (["--packets-per-s", "5"], "--packets-per-s: only a calibration has this flag"),
        (["--calibrate", "cpu"], "invalid choice: 'cpu'"),
        (["--calibrate", "nic"], "--calibrate: a calibration needs --agent"),
        (["--calibrate", "nic", "--agent", "unix:/a"], "--calibrate: a calibration needs --device"),
        (["--values", "fast"], "--values: a quantity is a number and a unit"),
        (["--send", "web1"], "--send: a receiver is HOST:PORT"),
        (["--send", "web1:0"], "--send: a receiver is HOST:PORT"),
        (["--packets-per-s", "0"], "--packets-per-s: a whole number from 1"),
        (
            ["--calibrate", "nic", "--agent", "unix:/a", "--device", "eth0", "--packets-per-s", "5"],
            "--packets-per-s: datagrams are sent somewhere",
        ),
    ],
)
def test_bad_usage(capsys: pytest.CaptureFixture[str], more: list[str], said: str) -> None:
    assert main(["doctor", *more]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
