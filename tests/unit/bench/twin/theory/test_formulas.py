from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from bench.twin.theory import formulas

LOADS = pytest.mark.parametrize("load", [0.1, 0.5, 0.9])


def exponential_survival(times: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(np.exp(-times))


@LOADS
def test_the_latency_of_mm1_is_exponential(load: float) -> None:
    for quantile in (0.5, 0.9, 0.99):
        exact = formulas.mm1_quantile(1.0, load, quantile)
        assert exact == pytest.approx(-math.log(1.0 - quantile) * formulas.mg1_mean(1.0, load, 1.0))
        assert formulas.mg1_quantile(1.0, load, exponential_survival, quantile) == pytest.approx(exact, rel=5e-4)


def test_a_quantile_of_md1_is_erlangs() -> None:
    """P(wait <= t) = (1 - load) exp(load t) for waits below one service time."""
    wait = math.log(0.6 / 0.5) / 0.5
    latency = formulas.mg1_quantile(10.0, 0.5, formulas.constant_survival, 0.6)
    assert latency == pytest.approx(10.0 * (1.0 + wait), rel=2e-3)


def test_log_normal_tails_agree_with_a_simulated_queue() -> None:
    """Lindley's recursion: a wait is how far the work done since the start is above its least value so far."""
    log_sd, load, count = 0.8, 0.5, 400_000
    random = np.random.default_rng(0)
    services = np.exp(log_sd * (random.standard_normal(count) - log_sd / 2.0))
    work = np.cumsum(services - random.exponential(1.0 / load, count))
    waits = np.concatenate([[0.0], work - np.minimum(np.minimum.accumulate(work), 0.0)])[:-1]
    latencies = waits + services
    variation = formulas.log_normal_variation(log_sd)
    assert latencies.mean() == pytest.approx(formulas.mg1_mean(1.0, load, variation), rel=0.02)
    exact = formulas.mg1_quantile(1.0, load, formulas.log_normal_survival(log_sd), 0.99)
    assert np.quantile(latencies, 0.99) == pytest.approx(exact, rel=0.03)


def test_log_normal_quantiles_have_mean_one() -> None:
    middles = [(i + 0.5) / 20_000 for i in range(20_000)]
    quantiles = [formulas.log_normal_quantile(0.8, share) for share in middles]
    assert np.mean(quantiles) == pytest.approx(1.0, rel=1e-3)
    assert np.var(quantiles) == pytest.approx(formulas.log_normal_variation(0.8), rel=1e-2)


def test_a_mixture_of_two_constants() -> None:
    times = np.array([1.0] * 7 + [6.0])
    assert formulas.mixture_variation(1 / 8, 6.0) == pytest.approx(times.var() / times.mean() ** 2)


def test_pareto_gaps_of_hardly_any_shape_are_exponential() -> None:
    assert formulas.gim1_pareto_mean(2.0, 0.7, 1e-9) == pytest.approx(formulas.mg1_mean(2.0, 0.7, 1.0), rel=1e-5)
    assert formulas.gim1_pareto_mean(2.0, 0.7, 0.2) > formulas.gim1_pareto_mean(2.0, 0.7, 0.1)


def test_one_server_of_erlang_c_is_mm1_and_more_are_better() -> None:
    assert formulas.erlang_c_mean(1.0, 0.8, 1) == pytest.approx(5.0)
    # Two servers: 1 / (1 - load^2).
    assert formulas.erlang_c_mean(1.0, 0.8, 2) == pytest.approx(1.0 / (1.0 - 0.64))
