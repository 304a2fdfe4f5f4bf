"""`bayop sweep` as people and programs use it, interrupted in every way."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.support.patience import eventually
from tests.support.processes import children

SWEEP = [sys.executable, "-m", "bayop", "sweep"]
# 34 trials of about 50 ms each.
SMALL = ["--load", "600kqps", "--window", "200ms", "--points", "4", "--repeats", "2", "--seed", "7"]


def sweep(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*SWEEP, *arguments], capture_output=True, text=True, timeout=110, check=False, cwd=cwd)


def start(*arguments: str) -> subprocess.Popen[str]:
    """In a session of its own, which gets signals as a terminal sends them."""
    return subprocess.Popen(
        [*SWEEP, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def events(run: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run.stdout.splitlines()]


def lines_of(journal: Path) -> int:
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def wait_for_lines(journal: Path, lines: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60.0
    while lines_of(journal) < lines and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def are_gone(pids: list[int]) -> bool:
    return not any(map(is_alive, pids))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The table of the small sweep, in one process and never interrupted."""
    out = tmp_path_factory.mktemp("whole") / "sweep.csv"
    run = sweep(*SMALL, "--processes", "1", "--out", str(out))
    assert run.returncode == 0, run.stderr
    return out.read_bytes()


def test_programs_get_one_line_a_trial(tmp_path: Path) -> None:
    run = sweep("--load", "600kqps", "--window", "50ms", "--points", "2", "--json", cwd=tmp_path)
    assert run.returncode == 0
    assert not run.stderr
    first, *trials, last = events(run)
    assert first.items() >= {"event": "start", "cells": 5, "trials": 5, "done": 0, "out": "sweep.parquet"}.items()
    assert sorted(t["trial"] for t in trials) == [1, 2, 3, 4, 5]
    default = next(t for t in trials if t["trial"] == 1)
    assert default["setting"] == {"nic.rx_usecs": "auto", "cpu.freq_mhz": "auto"}
    assert default["measured"]["p99_us"] > default["measured"]["p50_us"] > 0
    assert last == {"event": "result", "trials": 5, "imprecise": 0, "out": "sweep.parquet"}
    assert [path.name for path in tmp_path.iterdir()] == ["sweep.parquet"]


@pytest.mark.slow
def test_a_sweep_that_is_killed_again_and_again_makes_the_table_of_one_that_is_not(
    tmp_path: Path, whole: bytes
) -> None:
    out = tmp_path / "sweep.csv"
    journal = tmp_path / "sweep.csv.journal"
    arguments = [*SMALL, "--processes", "2", "--out", str(out)]
    moments = random.Random(os.getpid())
    for _ in range(3):
        count = lines_of(journal)
        process = start(*arguments)
        wait_for_lines(journal, count + moments.randrange(1, 10), process)
        time.sleep(moments.uniform(0.0, 0.05))
        workers = children(process.pid)
        seen = lines_of(journal)
        process.kill()
        process.communicate()
        assert seen <= lines_of(journal) < 34
        assert eventually(partial(are_gone, workers), within_s=20), "its processes outlive it"
    run = sweep(*arguments)
    assert run.returncode == 0, run.stderr
    assert out.read_bytes() == whole
    assert not journal.exists()


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_sweep_says_what_is_kept_and_goes_on(
    tmp_path: Path, whole: bytes, number: int, code: int
) -> None:
    out = tmp_path / "sweep.csv"
    process = start(*SMALL, "--processes", "2", "--out", str(out))
    wait_for_lines(tmp_path / "sweep.csv.journal", 3, process)
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == code
    count = lines_of(tmp_path / "sweep.csv.journal")
    assert f"what was measured is kept beside {out}; the same command goes on from there\n" in errors
    assert errors.count("\n") == (2 if number == signal.SIGINT else 1)
    run = sweep(*SMALL, "--processes", "2", "--out", str(out), "--json")
    first, *trials, _ = events(run)
    assert first["done"] == count
    assert len(trials) == 34 - count
    assert out.read_bytes() == whole


def test_a_whole_sweep_is_not_run_again_and_another_plan_is_refused(tmp_path: Path) -> None:
    arguments = ["--load", "600kqps", "--window", "50ms", "--points", "2", "--out", str(tmp_path / "sweep.csv")]
    assert sweep(*arguments).returncode == 0
    table = (tmp_path / "sweep.csv").read_bytes()
    again = events(sweep(*arguments, "--json"))
    assert [event["event"] for event in again] == ["start", "result"]
    other = sweep(*arguments, "--seed", "1")
    assert other.returncode == 2
    assert "the file has trials of another sweep" in other.stderr
    assert "choose another file" in other.stderr
    assert (tmp_path / "sweep.csv").read_bytes() == table
    assert [path.name for path in tmp_path.iterdir()] == ["sweep.csv"]


def test_a_journal_of_another_plan_is_refused_and_kept(tmp_path: Path) -> None:
    out = tmp_path / "sweep.csv"
    process = start(*SMALL, "--processes", "1", "--out", str(out))
    wait_for_lines(tmp_path / "sweep.csv.journal", 2, process)
    same_time = sweep(*SMALL, "--processes", "1", "--out", str(out))
    assert same_time.returncode == 2
    assert "one writer" in same_time.stderr
    process.kill()
    process.communicate()
    count = lines_of(tmp_path / "sweep.csv.journal")
    other = sweep(*SMALL, "--no-default", "--out", str(out))
    assert other.returncode == 2
    assert "the file has trials of another sweep" in other.stderr
    assert lines_of(tmp_path / "sweep.csv.journal") == count


@pytest.mark.slow
def test_repeats_until_a_precision_do_not_depend_on_the_processes(tmp_path: Path) -> None:
    arguments = ["--load", "600kqps", "--window", "100ms", "--points", "2", "--until-ci", "3%", "--most-repeats", "8"]
    tables = []
    lines: list[dict[str, Any]] = []
    for processes in ("1", "3"):
        out = tmp_path / f"{processes}.csv"
        run = sweep(*arguments, "--processes", processes, "--out", str(out), "--json")
        assert run.returncode == 0, run.stderr
        tables.append(out.read_bytes())
        lines = events(run)
    assert tables[0] == tables[1]
    repeats: dict[str, int] = {}
    for event in lines[1:-1]:
        cell = str(event["setting"])
        repeats[cell] = repeats.get(cell, 0) + 1
    assert len(repeats) == 5
    assert all(3 <= count <= 8 for count in repeats.values())


def test_a_published_study_can_be_swept(data: Path, tmp_path: Path) -> None:
    study = ["--target", "study", "--data", str(data / "study_memcached.csv"), "--load", "200kqps,600kqps"]
    run = sweep(*study, "--points", "3", "--until-ci", "2%", "--out", str(tmp_path / "s.parquet"))
    assert run.returncode == 0, run.stderr
    lines = sweep(*study, "--points", "3", "--until-ci", "2%", "--out", str(tmp_path / "s.parquet"), "--json")
    assert events(lines)[0]["cells"] == 20


def test_a_sweep_without_the_papers_default_says_so(data: Path) -> None:
    study = ["--target", "study", "--data", str(data / "study_memcached.csv"), "--os", "ebbrt", "--load", "200kqps"]
    run = sweep(*study)
    assert run.returncode == 2
    assert "--no-default" in run.stderr
