"""What `bayop init` writes is what the real agent and a search take."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bayop import _core
from bayop.cli import main
from bayop.live.file import LiveFile

MACHINES = Path(__file__).resolve().parents[1] / "machines"


@pytest.mark.parametrize(
    "tree", [None, *sorted(MACHINES.glob("*.tree"))], ids=lambda tree: tree.stem if tree else "here"
)
def test_both_files_are_accepted(tree: Path | None, tmp_path: Path, agent_binary: Path) -> None:
    out, machine = tmp_path / "out", tmp_path / "machine"
    root = [] if tree is None else ["--root", str(tree)]
    assert main(["init", "--out", str(out), *root]) == 0
    if tree is not None:
        _core.unpack_machine(tree.read_text(encoding="utf-8"), machine)
        root = ["--root", str(machine)]
    check = [str(agent_binary), "check-config", "--config", str(out / "agent.toml"), *root]
    run = subprocess.run(check, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "mode       apply" in run.stdout
    assert "no place of this machine" not in run.stdout, "every knob that is allowed is there"
    file = LiveFile.read(out / "live.toml")
    assert all(f"{knob}@" in run.stdout for knob in file.knobs), "and so is every knob that is searched"
