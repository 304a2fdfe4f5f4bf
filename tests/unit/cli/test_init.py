"""`bayop init`: what it writes, and that it never overwrites."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bayop.cli import main
from bayop.live.file import LiveFile

MACHINES = Path(__file__).resolve().parents[2] / "machines"


def test_both_files_are_written_for_this_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--out", str(tmp_path / "new" / "folder"), "--json"]) == 0
    (event,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert event["event"] == "written"
    agent, live = map(Path, event["files"])
    assert (agent.name, live.name) == ("agent.toml", "live.toml")
    assert LiveFile.read(live).agent == "unix:/run/bayop/agent.sock"
    assert agent.stat().st_mode & 0o022 == 0, "the agent takes no file that others may write"


def test_people_are_told_what_was_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = MACHINES / "intel-acpi-cpufreq.tree"
    assert main(["init", "--root", str(tree), "--out", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert "NIC:      eth0 (ixgbe)" in output
    assert "Meter:    powercap: package-0 + package-1" in output
    assert "Service:  none that is known" in output


@pytest.mark.parametrize("there", ["agent.toml", "live.toml"])
def test_nothing_is_ever_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str], there: str) -> None:
    (tmp_path / there).write_text("mine", encoding="utf-8")
    assert main(["init", "--out", str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert f"{tmp_path / there} is there already" in captured.err
    assert "hint: --out DIR for another folder" in captured.err
    assert captured.out == ""
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text(encoding="utf-8") == "mine"


def test_a_folder_that_can_t_be_made_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert main(["init", "--out", str(tmp_path / "file")]) == 2
    assert f"cannot write {tmp_path / 'file'}: file exists (--out)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--mode", "advise"], "--mode is for a service that is started"),
        (["--start", "--mode", "apply"], "--mode"),
        (["--latency", "./p99.sh"], "--latency is for a service that is started"),
        (["--slo", "p99<1ms"], "--slo is for a service that is started"),
        (["--start", "--root", str(MACHINES)], "a recorded machine can't be started"),
    ],
)
def test_flags_of_a_start_are_for_a_start(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", *words]) == 2
    assert message in capsys.readouterr().err
