"""The real program against a real memcached, for some slices."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from tests.support.servers import free_port, memcached_on

from bayop import _core
from bayop.load.plan import OpenLoop, Plan, Workload

PLAN = Plan(
    servers=("127.0.0.1:9",),
    schedule=OpenLoop.constant(1000.0),
    workload=Workload(records=10),
    warmup_s=0.0,
    duration_s=0.1,
    blocking=True,
    save_samples=True,
    seed=3,
)


@contextmanager
def worker(plan: str, *more: str) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-m", "bayop.load.steady_worker", *more]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        process.stdin.write(f"{plan}\n")
        process.stdin.flush()
        try:
            yield process
        finally:
            process.kill()


def event_of(process: subprocess.Popen[str]) -> tuple[str, Any]:
    assert process.stdout is not None
    word, _, text = process.stdout.readline().partition(" ")
    return word, json.loads(text)


def test_slice_after_slice_has_arrivals_of_its_own_until_nobody_listens() -> None:
    with memcached_on(port := free_port()):
        plan = replace(PLAN, servers=(f"127.0.0.1:{port}",))
        with worker(plan.to_json()) as process:
            for seed in (3, 4):
                word, text = event_of(process)
                assert word == "report"
                report = _core.LoadReport.from_json(json.dumps(text))
                assert report.counts()["misses"] == 0, "the records were stored before"
                intended = sorted(row[0] for row in struct.iter_unpack("=3q", report.samples()))
                arrivals = _core.load_arrivals(replace(plan, seed=seed).to_json(), 0, len(intended))
                assert intended == pytest.approx(arrivals, abs=1)
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(timeout=20.0) == 0


def test_nothing_is_stored_where_that_is_not_wanted() -> None:
    with memcached_on(port := free_port()):
        plan = replace(PLAN, servers=(f"127.0.0.1:{port}",))
        with worker(plan.to_json(), "--noload") as process:
            word, text = event_of(process)
            counts = _core.LoadReport.from_json(json.dumps(text)).counts()
            assert (word, counts["misses"]) == ("report", counts["answered"])
            assert counts["answered"] > 0


@pytest.mark.parametrize(
    ("change", "kind", "wrong", "rule", "place"),
    [
        ({}, "failed", "cannot connect to 127.0.0.1:9: connection refused", None, None),
        ({"dialect": "echo", "threads": 0}, "input", None, "threads must be 1 to 256", "threads"),
    ],
)
def test_an_error_is_told_with_all_its_parts(
    change: dict[str, Any], kind: str, wrong: str | None, rule: str | None, place: str | None
) -> None:
    with worker(replace(PLAN, **change).to_json()) as process:
        word, error = event_of(process)
        assert process.wait(timeout=20.0) == 0
    assert word == "error"
    assert set(error) == {"kind", "wrong", "rule", "value", "place", "hint"}
    assert (error["kind"], error["wrong"], error["rule"], error["place"]) == (kind, wrong, rule, place)


def test_another_plan_takes_the_place_of_the_first() -> None:
    with memcached_on(port := free_port()):
        plan = replace(PLAN, servers=(f"127.0.0.1:{port}",))
        with worker(plan.to_json()) as process:
            assert process.stdin is not None
            assert _core.LoadReport.from_json(json.dumps(event_of(process)[1])).counts()["intended"] < 200
            process.stdin.write(f"{plan.at(20_000.0).to_json()}\n")
            process.stdin.flush()
            counts = [_core.LoadReport.from_json(json.dumps(event_of(process)[1])).counts() for _ in range(5)]
            assert counts[-1]["intended"] > 1000
