"""`bayop load --think-time`: clients that think after every answer."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path

import pytest
from tests.support.servers import load, result_of, scripted

BRIEF = ["-t", "0.4s", "-w", "0s", "-r", "100", "-B"]


@pytest.mark.parametrize("gaps", ["fixed", "exponential"])
def test_a_client_sends_only_after_it_has_thought(memcached: str, tmp_path: Path, gaps: str) -> None:
    """One client: its next request is due after the last answer, however slow the machine is."""
    samples = tmp_path / "samples.csv"
    flags = ["--closed-loop", "--think-time", "5ms", "-i", gaps, "--save", str(samples), "--json"]
    result = result_of(load("-s", memcached, *flags, *BRIEF))
    with samples.open() as lines:
        rows = [{name: int(ns) for name, ns in row.items()} for row in csv.DictReader(lines)]
    assert result["offered_qps"] is None
    assert result["counts"]["answered"] == result["counts"]["intended"] == len(rows) > 3
    thoughts_ns = [b["intended_ns"] - a["received_ns"] for a, b in pairwise(rows)]
    assert min(thoughts_ns) >= (5_000_000 if gaps == "fixed" else 0)
    assert all(row["intended_ns"] <= row["sent_ns"] <= row["received_ns"] for row in rows)


def test_think_time_bounds_the_load(memcached: str) -> None:
    """Twelve clients with 20 ms each can not send more than 600 requests/s, and one more at the start."""
    flags = ["--closed-loop", "--think-time", "20ms", "-i", "fixed", "-c", "4", "-d", "3", "--json"]
    counts = result_of(load("-s", memcached, *flags, *BRIEF))["counts"]
    assert 12 <= counts["intended"] <= 12 * (0.4 / 0.02 + 1)


def test_a_client_whose_request_is_lost_goes_on() -> None:
    """A silent server loses every request, and none of the clients."""
    with scripted("") as server:
        flags = ["--protocol", "echo", "--closed-loop", "--think-time", "5ms", "--timeout", "20ms", "-c", "2", "--json"]
        result = result_of(load("-s", server, *flags, *BRIEF))
    assert result["counts"]["intended"] > 2
    assert result["counts"]["lost_timed_out"] > 2
    assert result["counts"]["answered"] == 0


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["-q", "1kqps", "--think-time", "1ms"], "--think-time was given without --closed-loop"),
        (["--closed-loop", "--think-time", "0s"], "a think time must be 1 us to 1e6 s (--think-time)"),
    ],
)
def test_a_think_time_that_makes_no_sense_is_refused(flags: list[str], message: str) -> None:
    run = load("-s", "127.0.0.1:9", *flags)
    assert run.returncode == 2
    assert message in run.stderr
