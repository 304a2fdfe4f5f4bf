"""The benchmark of the load generator, without peers and for moments only."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from bench.load.experiments import exponential_distance, stalled_latency_s, uniform_distance
from tests.support.needs import need, program, require

pytestmark = [pytest.mark.slow, pytest.mark.weekly, pytest.mark.alone]

ROOT = Path(__file__).parents[2]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench.load.run", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=100)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_measures_and_writes_every_experiment(tmp_path: Path) -> None:
    need("root", "memcached")
    require(program("clang") is not None, "clang is not installed", "requirements/install-packages probe")
    out = tmp_path / "out"
    briefly = ["--rounds", "1", "--duration", "2", "--shapes", "4x4", "--tries", "1"]
    run = bench(*briefly, "--out", str(out), "--build", str(tmp_path))
    assert run.returncode == 0, run.stderr
    peaks = rows(out / "peak.csv")
    assert {(row["setup"], row["shape"]) for row in peaks} == {
        ("binary, -R 1000", "4x4"),
        ("binary, -R 20", "4x4"),
        ("text, -R 20", "4x4"),
    }
    for row in peaks:  # two ways to count the same answers
        assert float(row["qps"]) == pytest.approx(float(row["reported_qps"]), rel=0.3)
    (accuracy,) = rows(out / "accuracy.csv")
    # What the kernel saw is a part of what is counted from the due time.
    assert 0.0 < float(accuracy["wire_us"]) <= float(accuracy["due_us"])
    assert float(accuracy["reported_us"]) == pytest.approx(float(accuracy["due_us"]), rel=0.5)
    assert {float(row["offered_qps"]) for row in rows(out / "arrivals.csv")} >= {5000.0, 20000.0}
    (stalled,) = rows(out / "stalled.csv")
    assert float(stalled["reported_us"]) > 20_000.0
    assert run.stdout == (out / "summary.md").read_text(encoding="utf-8")
    assert json.loads((out / "env.json").read_text(encoding="utf-8"))["cpus"]


@pytest.mark.parametrize(
    ("peers", "message"),
    [
        ("wrk=/bin/true", "there is no peer 'wrk'; there are mutilate, memtier"),
        ("memtier=none", "there is no program none for memtier"),
    ],
)
def test_refuses_peers_that_are_not_there(peers: str, message: str) -> None:
    run = bench("--peers", peers)
    assert run.returncode == 2
    assert message in run.stderr
    assert "Traceback" not in run.stderr


def test_a_stall_has_the_quantiles_of_its_geometry() -> None:
    assert stalled_latency_s([0.05] * 10, 10.0, 0.99) == pytest.approx(0.04)
    # The longer one alone reaches it: 0.1 - 0.02 of 2 s.
    assert stalled_latency_s([0.1, 0.01], 2.0, 0.99) == pytest.approx(0.08)
    with pytest.raises(ValueError, match="do not reach"):
        stalled_latency_s([0.005], 1.0, 0.99)


def test_distances_see_what_does_not_belong() -> None:
    gaps_ns = np.random.default_rng(3).exponential(10_000.0, 100_000).astype(np.int64)
    assert exponential_distance(gaps_ns, 10_000.0) < 0.006
    assert exponential_distance(gaps_ns, 12_000.0) > 0.05
    assert exponential_distance(np.where(gaps_ns < 2000, 0, gaps_ns), 10_000.0) == pytest.approx(
        1 - np.exp(-0.2), abs=0.01
    )
    times_ns = np.cumsum(gaps_ns)
    assert uniform_distance(times_ns) < 0.006
    assert uniform_distance(times_ns**2 // 10**9) > 0.2
