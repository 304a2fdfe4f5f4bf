"""`bayop doctor` on this machine, and what it refuses; with an agent it is tested end to end."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bayop import _core
from bayop.cli import doctor, main
from bayop.experiments.rig import veth
from bayop.live.agent.messages import Finding
from bayop.machine.verdict import OFFLINE, Ability

MACHINES = Path(__file__).resolve().parents[2] / "machines"


def test_the_exit_code_says_whether_something_blocks(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["doctor", "--json"])
    *findings, verdict = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {finding["event"] for finding in findings} == {"finding"}
    assert {"kernel", "agent"} <= {finding["check"] for finding in findings}
    assert verdict["event"] == "verdict"
    can = {verb["verb"]: verb["can"] for verb in verdict["verbs"]}
    assert set(can) == {"tune", "live", *OFFLINE}
    assert can["twin"]
    assert verdict["live"] == (can["tune"] or can["live"])
    assert code == (0 if verdict["live"] else 4)


def test_a_machine_where_nothing_live_can_run_says_why_and_exits_with_4(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(doctor, "SOCKET", f"unix:{tmp_path}/agent.sock")
    monkeypatch.setattr(veth, "missing", lambda _: "network namespaces need root")
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["doctor"]) == 4
    output = capsys.readouterr().out
    assert re.search(rf"tune can't: .*{tmp_path}/agent.sock", output)
    assert "live can't: network namespaces need root." in output
    assert f"{', '.join(OFFLINE)} can: on models and recorded measurements." in output
    assert "Nothing can run here yet that needs a real machine." in output


def test_what_has_no_remedy_is_not_told_a_description(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert main(["doctor", "--root", str(MACHINES / "altra-cppc.tree")]) in (0, 4)
    said = capsys.readouterr().out
    assert re.search(r"knob cpu\.perf_ctl_mhz +the processor is not Intel's.* no remedy is known", said)
    assert "asks its package for" not in said


def test_a_recorded_machine_is_judged_by_itself(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    tree = MACHINES / "intel-acpi-cpufreq.tree"
    assert main(["doctor", "--root", str(tree), "--json"]) == 0
    *findings, verdict = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {f["check"]: f["status"] for f in findings}["power meter"] == "ok"
    assert [verb["verb"] for verb in verdict["verbs"]] == ["tune", *OFFLINE]
    assert main(["doctor", "--root", str(tmp_path)]) == 4, "an empty folder is no Linux"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--root", "nowhere.tree"], "cannot read nowhere.tree: no such file"),
        (["--root", __file__], f"({__file__}, line 1)"),
        (["--root", ".", "--agent", "unix:/a"], "both --agent and --root"),
    ],
)
def test_what_is_no_recorded_machine_is_refused(
    capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    assert main(["doctor", *more]) == 2
    assert message in capsys.readouterr().err


def test_people_get_every_check_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    findings = [
        Finding("kernel", "ok", "6.18", "reason of kernel", None),
        Finding("rival tuned", "note", "active", "it turns the same knobs", "stop it"),
        Finding("power meter", "missing", "none", "nothing measures", "give [power.model] in agent.toml"),
        Finding("knobs", "blocker", "none", "there is nothing to tune", None),
    ]
    tune = Ability(("tune",), ("no agent [answers]",))
    doctor._show(findings, [tune, Ability(("live",), (), ("a remark",))])
    output = " ".join(capsys.readouterr().out.split())
    for text in ("6.18", "stop it", "give [power.model]", "no remedy is known"):
        assert text in output
    assert "reason of kernel" not in output
    assert "tune can't: no agent [answers]. live can: a remark." in output
    assert "Nothing can run here" not in output


def test_a_narrow_terminal_loses_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    file = "/sys/devices/system/cpu/cpu0/cpuidle/state1/disable"
    doctor._show([Finding("knob napi.irq_suspend_timeout_us", "missing", file, "", None)], [])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60
    assert "…" not in "".join(lines)
    letters = "".join(lines)
    assert all(letters.count(sign) == file.count(sign) for sign in "/0123456789")


def test_a_recorded_machine_can_be_examined(tmp_path: Path) -> None:
    findings = _core.examine(root=tmp_path)
    assert [finding["status"] for finding in findings] == ["blocker"], "an empty folder is no Linux"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--device", "eth0"], "--device is for a calibration, and none is asked for"),
        (["--packets-per-s", "5"], "--packets-per-s is for a calibration, and none is asked for"),
        (["--calibrate", "cpu"], "cannot use 'cpu': it must be one of nic"),
        (["--calibrate", "nic"], "--agent is missing; a calibration must have --agent (--calibrate)"),
        (["--calibrate", "nic", "--agent", "unix:/a"], "--device is missing"),
        (["--values", "fast"], "cannot use 'fast': a quantity must be a number and a unit"),
        (["--send", "web1"], "cannot use 'web1': a receiver must be HOST:PORT (--send)"),
        (["--send", "web1:0"], "cannot use 'web1:0': a receiver must be HOST:PORT (--send)"),
        (["--packets-per-s", "0"], "cannot use '0': it must be a whole number from 1"),
        (
            ["--calibrate", "nic", "--agent", "unix:/a", "--device", "eth0", "--packets-per-s", "5"],
            "--send is missing; a rate must come with a receiver",
        ),
    ],
)
def test_bad_usage(capsys: pytest.CaptureFixture[str], more: list[str], message: str) -> None:
    assert main(["doctor", *more]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


def test_deferral_by_device_and_by_queue_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "--root", str(MACHINES / "altra-cppc.tree"), "--json"])
    findings = [json.loads(line) for line in capsys.readouterr().out.splitlines()][:-1]
    (why,) = [finding["why"] for finding in findings if finding["check"] == "kernel"]
    assert why == "NAPI deferral by queue and irq-suspend-timeout need Linux 6.13, by device 5.8"
