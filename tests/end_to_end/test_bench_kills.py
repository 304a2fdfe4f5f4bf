"""A few of the benchmarks' kills: none leaves anything changed or loses anything, and the record says so."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.needs import need

pytestmark = [pytest.mark.slow, pytest.mark.weekly, pytest.mark.alone]

ROOT = Path(__file__).parents[2]
KILLS = 10


def test_a_killed_agent_leaves_nothing_changed(agent_binary: Path, tmp_path: Path) -> None:
    need("namespaces", "memcached")
    command = [
        sys.executable,
        "-m",
        "bench.kills.run",
        str(agent_binary),
        "--kills",
        str(KILLS),
        "--out",
        str(tmp_path),
    ]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=110)
    assert run.returncode == 0, run.stderr
    (folder,) = tmp_path.iterdir()
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert summary == json.loads(run.stdout)
    assert (summary["kills"], summary["left_changed"]) == (KILLS, 0)
    assert summary["while_held"] >= KILLS / 2, run.stderr
    with (folder / "kills.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["left"] for row in rows] == [""] * KILLS
    assert {row["undone_by"] for row in rows} == {"restore", "start"}


def test_a_killed_brain_loses_nothing_and_leaves_nothing(agent_binary: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "bench.kills.brain", str(agent_binary), "--kills", str(KILLS), "--lanes", "2"]
    run = subprocess.run(
        [*words, "--out", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False, timeout=600
    )
    assert run.returncode == 0, run.stderr
    summary = json.loads(run.stdout)
    assert (summary["kills"], summary["windows_told"] > KILLS) == (KILLS, True)
    assert {value for name, value in summary.items() if name.startswith(("lost", "left"))} == {0}
