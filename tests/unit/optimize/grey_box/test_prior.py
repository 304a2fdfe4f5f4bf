from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from bayop.domains import Steps
from bayop.optimize.grey_box.inputs import Encoder, Inputs
from bayop.optimize.grey_box.prior import AnalyticPrior
from bayop.space import FREQ_MHZ, RX_USECS
from bayop.testing.fakes import nic_and_cpu_space

TYPICAL_US = 60.0
PRIOR = AnalyticPrior(quantile=0.99, typical_delay_us=TYPICAL_US)
U, LATENCY, POWER = range(3)


def points(*settings: tuple[float, float], load: float = 1.0) -> Inputs:
    space = nic_and_cpu_space(Steps(2, 400, 2), Steps(1300, 2900, 100), auto=False)
    knobs = [{RX_USECS: d, FREQ_MHZ: f} for d, f in settings]
    return Encoder(space, TYPICAL_US).encode(knobs, np.full(len(knobs), math.log(load)))


def test_a_longer_delay_batches_work_and_adds_latency() -> None:
    value = PRIOR.evaluate(PRIOR.mean, points((2, 2900), (100, 2900), (400, 2900)))
    assert (np.diff(value[U]) < 0).all()
    assert (np.diff(value[POWER]) < 0).all()
    assert (np.diff(value[LATENCY]) > 0).all()


def test_a_higher_frequency_costs_power_and_saves_time() -> None:
    value = PRIOR.evaluate(PRIOR.mean, points((50, 1300), (50, 2100), (50, 2900)))
    assert (np.diff(value[U]) < 0).all()
    assert (np.diff(value[LATENCY]) < 0).all()
    assert (np.diff(value[POWER]) > 0).all()


def test_latency_runs_away_at_saturation_and_utilization_stops_at_one() -> None:
    at = points((2, 2900), load=1.0)
    calm, full = PRIOR.evaluate(PRIOR.mean, at), PRIOR.evaluate(PRIOR.mean, points((2, 2900), load=4.0))
    assert full[U, 0] == pytest.approx(0.0, abs=0.1)
    assert full[LATENCY, 0] > calm[LATENCY, 0] + math.log(5)


def test_stays_finite_however_far_beyond_saturation() -> None:
    value, jacobian = PRIOR.jacobian(PRIOR.mean, points((2, 1300), (400, 2900), load=1e4))
    assert np.isfinite(value).all()
    assert np.isfinite(jacobian).all()


def test_the_wait_for_an_interrupt_is_uniform() -> None:
    theta, at = PRIOR.mean, points((2, 2900), (102, 2900))
    p99 = np.exp(PRIOR.evaluate(theta, at)[LATENCY])
    median = AnalyticPrior(0.5, TYPICAL_US)
    p50 = np.exp(median.evaluate(median.mean, at)[LATENCY])
    assert p99[1] - p99[0] == pytest.approx(0.99 * 100, rel=0.1)
    assert p50[1] - p50[0] == pytest.approx(0.50 * 100, rel=0.2)


def test_the_jacobian_is_the_derivative() -> None:
    at = points((2, 2900), (50, 1700), (400, 1300), load=1.2)
    theta = PRIOR.mean + 0.1
    value, jacobian = PRIOR.jacobian(theta, at)
    assert np.allclose(value, PRIOR.evaluate(theta, at))
    for i in range(len(theta)):
        step = np.zeros_like(theta)
        step[i] = 1e-4
        central = (PRIOR.evaluate(theta + step, at) - PRIOR.evaluate(theta - step, at)) / 2e-4
        assert np.allclose(jacobian[..., i], central, atol=1e-3, rtol=1e-3)


def test_anchoring_passes_through_the_first_observation() -> None:
    at = points((2, 2900))
    observed = (math.log(0.1), math.log(9000.0), math.log(31.0))
    theta, sd = PRIOR.anchored(*observed, at)
    assert np.allclose(PRIOR.evaluate(theta, at)[:, 0], observed, atol=0.02)
    assert (sd <= PRIOR.sd).all()


def test_anchoring_does_without_utilization() -> None:
    theta, _ = PRIOR.anchored(None, math.log(100.0), math.log(90.0), points((2, 2900)))
    assert np.isfinite(theta).all()


def test_a_slow_service_is_a_fast_one_in_other_units() -> None:
    slow = AnalyticPrior(0.99, 1000.0 * TYPICAL_US)
    fast_at = points((2, 2900), (50, 1700), (400, 1300))
    slow_at = replace(fast_at, delay_us=1000.0 * fast_at.delay_us)
    fast_value, slow_value = PRIOR.evaluate(PRIOR.mean, fast_at), slow.evaluate(slow.mean, slow_at)
    assert np.allclose(slow_value[U], fast_value[U])
    assert np.allclose(slow_value[POWER], fast_value[POWER])
    assert np.allclose(slow_value[LATENCY], fast_value[LATENCY] + math.log(1000.0))


def test_fewer_serving_cores_are_each_busier() -> None:
    all_, half = (replace(points((50, 2900)), serving=np.array([share])) for share in (1.0, 0.5))
    spread, packed = (PRIOR.evaluate(PRIOR.mean, at)[:, 0] for at in (all_, half))
    assert packed[U] == pytest.approx(spread[U], abs=0.05), "the work is the same"
    assert packed[LATENCY] > spread[LATENCY]
    assert PRIOR.evaluate(PRIOR.mean, replace(half, log_load=np.array([9.0])))[U, 0] <= math.log(0.5) + 1e-9


def test_another_quantile_has_the_latency_that_it_has_alone() -> None:
    both, median = AnalyticPrior(0.99, TYPICAL_US, also=(0.5,)), AnalyticPrior(0.5, TYPICAL_US)
    at = points((2, 2900), (50, 1700), (400, 1300))
    value = both.evaluate(both.mean, at)
    assert np.array_equal(value[:3], PRIOR.evaluate(PRIOR.mean, at))
    assert np.allclose(value[3], median.evaluate(median.mean, at)[LATENCY])
    assert len(both.names) == len(both.mean) == len(both.sd) == len(PRIOR.names) + 4


def test_anchoring_passes_through_every_quantile() -> None:
    both, at = AnalyticPrior(0.99, TYPICAL_US, also=(0.5,)), points((2, 2900))
    observed = (math.log(0.1), math.log(9000.0), math.log(31.0), math.log(800.0))
    theta, sd = both.anchored(*observed[:3], at, log_also=observed[3:])
    assert np.allclose(both.evaluate(theta, at)[:, 0], observed, atol=0.02)
    assert (sd <= both.sd).all()
