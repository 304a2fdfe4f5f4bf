from __future__ import annotations

import math
from dataclasses import replace

import pytest
from bench.twin.theory.law import Experiment, Law, measure, row
from bench.twin.theory.server import load, number, server

LAW = Law(quantity="mean, us", theory=100.0, read=lambda windows: number(windows[0], "mean_us"))
EXACT = replace(LAW, exact=True, bar=1e-6)


@pytest.mark.parametrize(
    ("law", "values", "holds"),
    [
        (LAW, [100.8, 100.9, 101.0], True),
        (LAW, [101.8, 101.9, 102.0], False),
        (LAW, [100.0, 102.0, 103.0], True),  # 1.7 % off, and known to 3.8 %
        (LAW, [98.0, 102.0, 104.0], False),  # 1.3 % off, and known to 7.6 % only
        (LAW, [97.0, 100.0, 103.0], False),  # the same, and right by chance
        (EXACT, [100.0, 100.0, 100.0], True),
        (EXACT, [100.0, 100.001, 100.0], False),
        (LAW, [100.0, 100.0, math.nan], False),
    ],
)
def test_a_row_holds_within_its_bar_or_a_useful_confidence(law: Law, values: list[float], holds: bool) -> None:  # noqa: FBT001
    assert row("", law, values).holds == holds


def test_a_row_shows_mean_error_and_students_confidence() -> None:
    found = row("M/M/1", LAW, [101.0, 102.0, 103.0])
    assert (found.what, found.quantity, found.theory) == ("M/M/1", "mean, us", "100")
    assert found.twin == 102.0
    assert found.error_pct == pytest.approx(2.0)
    assert found.confidence_pct == pytest.approx(100 * 4.303 / math.sqrt(3) / 102, rel=1e-3)


def test_an_exact_row_shows_its_worst() -> None:
    found = row("", EXACT, [100.0, 99.0, 100.5])
    assert (found.twin, found.confidence_pct) == (99.0, None)
    assert found.error_pct == pytest.approx(-1.0)


def test_experiments_have_random_numbers_of_their_own() -> None:
    one = Experiment(what="one", profile=server(request_us=10.0), windows=(load(1e4, requests=2000),) * 2, laws=(LAW,))
    other = replace(one, what="other")
    seeds = [run["seed"] for e in (one, other) for seed in (0, 1) for run in e.runs(seed)]
    assert len(set(seeds)) == 8
    rows = list(measure([one, other], seeds=2, seed=0, threads=1))
    assert [r.what for r in rows] == ["one", "other"]
    assert rows[0].twin != rows[1].twin
    assert rows == list(measure([one, other], seeds=2, seed=0, threads=2))
    with pytest.raises(AssertionError, match="share random numbers"):
        list(measure([one, one], seeds=2, seed=0, threads=1))
