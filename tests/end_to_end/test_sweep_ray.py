"""`bayop sweep --ray` on a real Ray cluster of two nodes on this machine, of which one is killed."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.needs import need

pytestmark = [pytest.mark.slow, pytest.mark.weekly, pytest.mark.timeout(600)]

SWEEP = [sys.executable, "-m", "bayop", "sweep"]
# 34 trials of about 100 ms each.
SMALL = ["--load", "600kqps", "--window", "500ms", "--points", "4", "--repeats", "2", "--seed", "7"]
NODE: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 100 * 2**20}


class TwoNodes:
    """A cluster of two nodes with a processor each, and with everything that they write in a folder of their own."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(initialize_head=True, head_node_args=NODE | {"include_dashboard": False})
        self._second = self._cluster.add_node(**NODE)
        self.address = str(self._cluster.address)

    def kill_one(self) -> None:
        """The second node is gone without a word, with whatever it works on."""
        self._cluster.remove_node(self._second, allow_graceful=False)

    def end(self) -> None:
        self._cluster.shutdown()


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Ray's own folder; its sockets allow for no long path."""
    path = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
    monkeypatch.setenv("RAY_TMPDIR", str(path))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def cluster(folder: Path) -> Iterator[TwoNodes]:
    need("ray")
    nodes = TwoNodes()
    yield nodes
    nodes.end()
    assert not processes_of(folder)


def processes_of(folder: Path) -> list[str]:
    """Command lines that name the folder: whatever of a cluster still runs, after a moment to end."""
    deadline = time.monotonic() + 30.0
    while True:
        lines = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if str(folder) in line:
                lines.append(line)
        if not lines or time.monotonic() > deadline:
            return lines
        time.sleep(0.1)


def start(cluster: TwoNodes, out: Path) -> subprocess.Popen[str]:
    words = [*SWEEP, *SMALL, "--ray", cluster.address, "--out", str(out), "--json"]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_lines(out: Path, lines: int, process: subprocess.Popen[str]) -> None:
    journal = out.with_name(f"{out.name}.journal")
    while process.poll() is None and not (journal.exists() and journal.read_bytes().count(b"\n") >= lines):
        time.sleep(0.01)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The table of the same sweep on this machine alone."""
    out = tmp_path_factory.mktemp("local") / "sweep.csv"
    subprocess.run([*SWEEP, *SMALL, "--out", str(out)], capture_output=True, check=True)
    return out.read_bytes()


def test_a_node_that_dies_loses_nothing_and_doubles_nothing(cluster: TwoNodes, tmp_path: Path, local: bytes) -> None:
    out = tmp_path / "sweep.csv"
    process = start(cluster, out)
    wait_for_lines(out, 5, process)
    assert process.poll() is None
    cluster.kill_one()
    output, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    first, *trials, last = [json.loads(line) for line in output.splitlines()]
    assert first["trials"] == last["trials"] == 34
    assert sorted(trial["trial"] for trial in trials) == list(range(1, 35))
    assert out.read_bytes() == local


def test_a_driver_that_dies_goes_on_from_its_journal(cluster: TwoNodes, tmp_path: Path, local: bytes) -> None:
    out = tmp_path / "sweep.csv"
    for number, code in ((signal.SIGKILL, -9), (signal.SIGTERM, 143), (signal.SIGINT, 130)):
        journal = out.with_name("sweep.csv.journal")
        before = journal.read_bytes().count(b"\n") if journal.exists() else 0
        process = start(cluster, out)
        wait_for_lines(out, before + 4, process)
        process.send_signal(number)
        _, error = process.communicate(timeout=60)
        assert process.returncode == code, error
        assert "Traceback" not in error
    process = start(cluster, out)
    output, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    assert json.loads(output.splitlines()[0])["done"] >= 12
    assert out.read_bytes() == local


def test_a_cluster_that_is_not_there_is_said_so(folder: Path, tmp_path: Path) -> None:
    need("ray")
    for address in ("127.0.0.1:1", "ray://127.0.0.1:1", "nonsense"):
        words = [*SWEEP, *SMALL, "--ray", address, "--out", str(tmp_path / "sweep.csv")]
        run = subprocess.run(words, capture_output=True, text=True, timeout=200, check=False)
        assert run.returncode == 4, run.stderr
        assert "can't be reached (--ray)" in run.stderr
        assert "Traceback" not in run.stderr
    assert not processes_of(folder)
