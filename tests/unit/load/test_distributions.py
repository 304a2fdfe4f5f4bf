"""What the generator draws, against scipy's distributions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bayop import _core
from bayop.load.plan import OpenLoop, Piece, Plan, Replay

COUNT = 20_000
# The critical value of the Kolmogorov-Smirnov distance at a level of 1e-6: draws are seeded, so a test never flickers.
CRITICAL = 2.5 / np.sqrt(COUNT)


def draw(text: str, count: int = COUNT) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array(_core.load_draw(text, count, 1))


def plan_at(*pieces: Piece, gaps: str = "exponential", threads: int = 1) -> Plan:
    return Plan(servers=("h:1",), schedule=OpenLoop(pieces, gaps), threads=threads)


def arrivals_s(plan: Plan, thread: int = 0, count: int = COUNT) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array(_core.load_arrivals(plan.to_json(), thread, count)) / 1e9


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("uniform:100", stats.uniform(0, 100)),
        ("normal:30,8", stats.norm(30, 8)),
        ("exponential:0.01", stats.expon(scale=100)),
        ("pareto:15,214.476,0.348238", stats.genpareto(0.348238, 15, 214.476)),
        # scipy's shape of the generalized extreme value distribution has the opposite sign.
        ("gev:30.7984,8.20449,0.078688", stats.genextreme(-0.078688, 30.7984, 8.20449)),
        ("gev:10,3,0", stats.gumbel_r(10, 3)),
        ("fb_key", stats.genextreme(-0.078688, 30.7984, 8.20449)),
        ("fb_ia", stats.genpareto(0.154971, 0, 16.0292)),
    ],
)
def test_distributions_are_scipys(text: str, reference: Any) -> None:
    assert stats.kstest(draw(text), reference.cdf).statistic < CRITICAL


def test_etc_values_have_a_discrete_head_and_a_pareto_tail() -> None:
    values = draw("fb_value")
    head = np.bincount(values[values < 15].astype(int), minlength=15) / COUNT
    assert head[2] == pytest.approx(0.17820, abs=0.01)
    assert head[11] == pytest.approx(0.08989, abs=0.01)
    assert head.sum() == pytest.approx(0.44222, abs=0.015)
    tail = values[values >= 15]
    assert stats.kstest(tail, stats.genpareto(0.348238, 15, 214.476).cdf).statistic < 2.5 / np.sqrt(len(tail))


def test_discrete_and_fixed() -> None:
    assert set(draw("30", 5)) == {30.0}
    keys = draw("discrete:16=0.25,21=0.75")
    assert set(keys) == {16.0, 21.0}
    assert np.mean(keys == 16) == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize(
    ("gaps", "reference"),
    [
        ("exponential", stats.expon(scale=1e-3)),
        ("uniform", stats.uniform(0, 2e-3)),
        ("fb_ia", stats.genpareto(0.154971, 0, 1e-3 * (1 - 0.154971))),
        ("pareto:0,5,0.3", stats.genpareto(0.3, 0, 1e-3 * (1 - 0.3))),
    ],
)
def test_gaps_keep_their_shape_and_follow_the_load(gaps: str, reference: Any) -> None:
    gaps_s = np.diff(arrivals_s(plan_at(Piece(1e6, 1000.0), gaps=gaps), count=COUNT + 1))
    assert stats.kstest(gaps_s, reference.cdf).statistic < CRITICAL


def test_threads_with_fixed_gaps_take_turns() -> None:
    plan = plan_at(Piece(1e6, 1000.0), gaps="fixed", threads=2)
    together = np.sort(np.concatenate([arrivals_s(plan, thread, 50) for thread in range(2)]))
    assert np.diff(together) == pytest.approx(1e-3, abs=1e-8)


def test_a_changing_load_is_met_exactly_and_ends_with_the_curve() -> None:
    plan = plan_at(Piece(2.0, 1000.0), Piece(1.0, 10.0), Piece(2.0, 500.0), gaps="fixed")
    times_s = arrivals_s(plan)
    assert times_s[-1] < 5.0
    requests, _ = np.histogram(times_s, bins=[0.0, 2.0, 3.0, 5.0])
    assert requests == pytest.approx([2000, 10, 1000], abs=1)


def test_a_changing_poisson_load_is_poisson_in_its_own_time() -> None:
    plan = plan_at(Piece(2.0, 5000.0), Piece(5.0, 2000.0))
    times_s = arrivals_s(plan)
    operational = np.where(times_s < 2.0, 5000.0 * times_s, 10_000 + 2000.0 * (times_s - 2.0))
    assert stats.kstest(np.diff(operational), stats.expon.cdf).statistic < CRITICAL


@given(
    qps=st.floats(1, 1e6),
    gaps=st.sampled_from(["fixed", "uniform", "exponential", "fb_ia"]),
    threads=st.integers(1, 4),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=50)
def test_arrivals_ascend_and_repeat(qps: float, gaps: str, threads: int, seed: int) -> None:
    plan = replace(plan_at(Piece(1e6, qps), gaps=gaps, threads=threads), seed=seed)
    first = arrivals_s(plan, threads - 1, 200)
    assert np.all(np.diff(first) >= 0)
    assert np.array_equal(first, arrivals_s(plan, threads - 1, 200))


def test_threads_share_a_replay() -> None:
    plan = Plan(servers=("h:1",), schedule=Replay((0.0, 0.5, 0.5, 2.0)), threads=2)
    assert arrivals_s(plan, 0).tolist() == [0.0, 0.5]
    assert arrivals_s(plan, 1).tolist() == [0.5, 2.0]


def test_zipf_falls_with_the_rank() -> None:
    shares = np.bincount(_core.load_choose("zipf:0.99", 1000, 1_000_000, 1), minlength=1000) / 1_000_000
    expected = np.arange(1, 1001) ** -0.99
    assert shares[:20] == pytest.approx((expected / expected.sum())[:20], rel=0.1)
    assert len(shares) == 1000


def test_uniform_popularity_reaches_every_record_alike() -> None:
    counts = np.bincount(_core.load_choose("uniform", 50, 50_000, 1), minlength=50)
    assert stats.chisquare(counts).pvalue > 1e-6


@given(st.text(max_size=30))
@settings(max_examples=200)
def test_any_text_is_a_distribution_or_refused(text: str) -> None:
    refusal: tuple[str, str | None] = ("input", text)
    try:
        _core.load_draw(text, 1, 0)
    except _core.Error as error:
        refusal = (error.kind, error.value)
    assert refusal == ("input", text)
