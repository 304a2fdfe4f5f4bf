"""A day on the lab's kernel: real frequency and NIC drivers, memcached, agent and `bayop run`, for two short hours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from bench.day.lab import KNOBS
from tests.end_to_end.lab.conftest import require_lab

from bayop.experiments.rig.day.record import RigDay
from bayop.experiments.rig.day.summary import power_saving

pytestmark = [pytest.mark.slow, pytest.mark.weekly, pytest.mark.alone]

ROOT = Path(__file__).resolve().parents[3]


def test_each_hour_has_a_turn_of_each_and_everything_is_put_back(agent_binary: Path, tmp_path: Path) -> None:
    require_lab()
    command = [sys.executable, "-m", "bench.day.lab", str(agent_binary), "--hours", "2", "--minutes", "1.5"]
    run = subprocess.run(
        [*command, "--out", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=240, check=False
    )
    assert run.returncode == 0, run.stderr
    (file,) = tmp_path.glob("*/lab.json")
    record = msgspec.json.decode(file.read_bytes(), type=RigDay)
    print(run.stdout)
    assert sorted((turn.hour, turn.who) for turn in record.turns) == [
        (0, "bayop"), (0, "default"), (1, "bayop"), (1, "default"),
    ]  # fmt: skip
    assert all(turn.requests > 3000 and turn.energy_j for turn in record.turns)
    assert record.searches >= 1
    assert {knob for window in record.windows for knob in window.setting or {}} == set(KNOBS)
    assert (record.failure, record.restored) == (None, True)
    assert power_saving(record) is not None
    assert "power (W)" in file.with_name("report.html").read_text(encoding="utf-8")
