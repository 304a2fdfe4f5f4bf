"""What people read in a pipe or a journal comes as it happens, a line for a trial."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path


def test_a_trial_is_read_before_the_next_one_ends(tmp_path: Path) -> None:
    words = ["tune", "--load", "400k", "--optimizer", "random", "--max-trials", "8"]
    command = [sys.executable, "-m", "bayop", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        lines, read_at = [], []
        for line in process.stdout:
            lines.append(line)
            read_at.append(time.monotonic())
    trials = [number for number, line in enumerate(lines) if line.startswith("trial ")]
    assert len(trials) == 8
    assert len({round(read_at[number], 3) for number in trials}) > 4, "they came at once"
    assert lines[trials[0]].startswith("trial 1  nic.rx_usecs ")


def test_a_sweep_has_a_line_for_every_trial(tmp_path: Path) -> None:
    words = ["sweep", "--load", "400k", "--points", "2", "--processes", "1", "--out", "sweep.csv"]
    run = subprocess.run(
        [sys.executable, "-m", "bayop", *words], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert [line.split("  ")[0] for line in run.stdout.splitlines()[1:-1]] == [f"{n} of 5" for n in range(1, 6)]
