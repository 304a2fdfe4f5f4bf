"""Scans, searches, curves, replays, and several machines."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from tests.support.servers import LOAD, free_port, load, result_of

pytestmark = [pytest.mark.slow, pytest.mark.alone]

BRIEF = ["-w", "0.1s", "-c", "2", "-r", "100", "--json"]


def events(run: subprocess.CompletedProcess[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in run.stdout.splitlines()]


def test_a_scan_runs_every_load(memcached: str) -> None:
    _, *steps = events(load("-s", memcached, "--scan", "500:1500:500", "-t", "0.5s", *BRIEF))
    assert [step["qps"] for step in steps] == [500.0, 1000.0, 1500.0]
    assert [step["achieved_qps"] for step in steps] == pytest.approx([500, 1000, 1500], rel=0.3)


def test_a_scan_for_people_ends_with_a_plot(memcached: str) -> None:
    run = load("-s", memcached, "--scan", "500:1500:500", "-t", "0.5s", *BRIEF[:-1])
    assert "offered" in run.stdout
    assert "█" in run.stdout


def test_a_search_brackets_what_it_finds(memcached: str) -> None:
    """No server answers in a nanosecond: the search ends with nothing."""
    run = load("-s", memcached, "--search", "99:1ns", "-q", "64", "-t", "0.2s", *BRIEF)
    assert run.returncode == 1
    *steps, highest = events(run)
    assert highest == {"event": "highest", "slo": "p99<1ns", "qps": None}
    assert len(steps) > 3


def test_a_load_curve_is_played_hour_by_hour(memcached: str, tmp_path: Path) -> None:
    curve, samples = tmp_path / "curve.csv", tmp_path / "samples.csv"
    curve.write_text("hour,qps_mean\n0,1\n1,4\n2,2\n")
    flags = ["--curve", str(curve), "--peak", "4kqps", "--hour", "0.5s", "--save", str(samples)]
    result = result_of(load("-s", memcached, *flags, "-c", "2", "-r", "100", "-w", "0s", "--json"))
    assert result["duration_s"] == pytest.approx(1.5)
    assert result["offered_qps"] == pytest.approx(7000 / 3)
    intended_s = np.loadtxt(samples, delimiter=",", skiprows=1, usecols=0) / 1e9
    requests, _ = np.histogram(intended_s, bins=[0.0, 0.5, 1.0, 1.5])
    assert requests == pytest.approx([500, 2000, 1000], rel=0.2)


def test_true_arrival_times_are_replayed(memcached: str, tmp_path: Path) -> None:
    trace, samples = tmp_path / "trace.csv", tmp_path / "samples.csv"
    times_s = [100.0, 100.25, 100.25, 100.5, 100.9]
    trace.write_text("".join(f"{time_s},key,3,10,1,get,0\n" for time_s in times_s))
    flags = ["--replay", str(trace), "--save", str(samples), "-r", "10", "--json"]
    result = result_of(load("-s", memcached, *flags))
    assert result["counts"]["answered"] == result["counts"]["intended"] == 5
    assert (result["duration_s"], result["achieved_qps"]) == pytest.approx((0.9 * 5 / 4, 5 / (0.9 * 5 / 4)))
    intended_ns = np.loadtxt(samples, delimiter=",", skiprows=1, usecols=0)
    assert sorted(intended_ns / 1e9) == pytest.approx([time_s - 100.0 for time_s in times_s], abs=1e-6)


@contextmanager
def peer(*flags: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    address = f"127.0.0.1:{free_port()}"
    command = [*LOAD, "--agent", "--listen", address, *flags]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            assert process.stderr.readline() == f"listening on {address}\n"
            yield address, process
        finally:
            process.kill()


def test_several_machines_share_the_load_and_one_measures(memcached: str) -> None:
    with peer() as (first, _), peer("-l", "3") as (second, _):
        flags = ["-q", "2kqps", "-Q", "200", "-t", "1s", "-B", "-a", first, "-a", second]
        result = result_of(load("-s", memcached, *flags, *BRIEF))
    assert result["counts"]["intended"] == pytest.approx(200, rel=0.4)
    together = result["all_clients"]
    assert together["counts"]["answered"] == together["counts"]["intended"] == pytest.approx(2000, rel=0.2)
    assert result["offered_qps"] == together["offered_qps"] == 2000


@contextmanager
def coordinated(memcached: str, duration: str) -> Iterator[tuple[subprocess.Popen[str], str, subprocess.Popen[str]]]:
    """A run for so long whose load a peer shares, from when that begins; and the peer's address and process."""
    with peer() as (address, process):
        words = [*LOAD, "-s", memcached, "-q", "1kqps", "-t", duration, "-a", address, *BRIEF]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
            assert process.stderr is not None
            assert "running a plan" in process.stderr.readline()
            yield run, address, process


def test_a_peer_that_dies_ends_the_run_with_a_message(memcached: str) -> None:
    with coordinated(memcached, "3s") as (run, address, process):
        process.kill()
        _, errors = run.communicate(timeout=30)
    assert run.returncode == 1
    assert address in errors
    assert "Traceback" not in errors


def test_ctrl_c_of_the_coordinator_ends_the_peers_load(memcached: str) -> None:
    with coordinated(memcached, "100s") as (run, _, process):
        time.sleep(1)
        run.send_signal(signal.SIGINT)
        output, errors = run.communicate(timeout=20)
        assert run.returncode == 130, errors
        assert json.loads(output.splitlines()[-1])["event"] == "result"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 130


def test_nobody_is_there(memcached: str) -> None:
    run = load("-s", memcached, "-q", "1kqps", "-a", f"127.0.0.1:{free_port()}", *BRIEF)
    assert run.returncode == 1
    assert "bayop load --agent --listen" in run.stderr
