"""The side-by-side benchmark runs from a checkout and writes what it promises."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CELL = "memcached linux 600K p99<500us"


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench.search.run", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=100)


def test_writes_raw_records_a_summary_and_the_environment(data: Path, tmp_path: Path) -> None:
    choices = ["--optimizers", "grey-box,grid", "--seeds", "2", "--trials", "6", "--cells", CELL]
    run = bench(str(data), *choices, "--out", str(tmp_path))
    assert run.returncode == 0, run.stderr
    with (tmp_path / "raw.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {(r["cell"], r["optimizer"], r["seed"]) for r in rows} == {
        (CELL, name, seed) for name in ("grey-box", "grid") for seed in ("0", "1")
    }
    assert all(float(r["regret"]) >= 0.0 for r in rows)
    assert sum(r["stopped"] != "" for r in rows) == 4
    assert "| grey-box | 2 |" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert run.stdout == (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "env.json").read_text(encoding="utf-8"))["cpus"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--optimizers", "magic"], "there is no optimizer 'magic' (--optimizers)"),
        (["--cells", "netpipe"], "no cell's name holds 'netpipe' (--cells)"),
    ],
)
def test_refuses_what_is_not_there(data: Path, more: list[str], message: str) -> None:
    run = bench(str(data), *more)
    assert run.returncode == 2
    assert message in run.stderr
    assert "Traceback" not in run.stderr
