from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

import numpy as np
import pytest

from bayop.domains import Steps
from bayop.objective import Objective
from bayop.optimize.base import Problem
from bayop.optimize.grey_box.belief import Belief, NextWindow, believe, expected_improvement
from bayop.optimize.grey_box.caution import Caution
from bayop.optimize.grey_box.inputs import Encoder, Inputs, typical_delay_us
from bayop.optimize.grey_box.mixture import Mixture, Moments
from bayop.optimize.grey_box.outputs import Outputs
from bayop.slo import Slo
from bayop.space import RX_USECS, Knob, Space

SLO = Slo.parse("p99<500us")
SPACE = Space((Knob(RX_USECS, Steps(0, 400, 2)),))
WINDOW = NextWindow(noise_sd=(0.02, 0.02, 0.02), duration_s=2.0)


class Known:
    """A model that is what a test says: for each output its mean in its own unit, and one relative sd for all."""

    def __init__(self, *means: float, sd: float, utilization: bool = True) -> None:
        self._means, self._sd, self._utilization = means, sd, utilization

    def predict(self, at: Inputs, outputs: list[int], against: Inputs | None = None) -> Moments:
        mean = np.log([[[self._means[o]] * len(at) for o in outputs]])
        variance = np.full_like(mean, self._sd**2)
        covariance = np.zeros_like(mean) if against is None else variance
        return Moments(np.ones(1), mean, variance, covariance, mean[..., :1])

    def has_seen(self, output: int) -> bool:
        return self._utilization or output != 0


def belief_of(
    known: Known,
    objective: str = "power",
    *,
    serving: float = 1.0,
    incumbent: bool = False,
    steady: float = 0.0,
    clear: float = 1.0,
    highest_utilization: float | None = None,
) -> Belief:
    problem = Problem(SPACE, SLO, Objective.parse(objective, SLO), 1000.0, steady=steady)
    encoded = Encoder(SPACE, typical_delay_us(SPACE, SLO)).encode([{RX_USECS: 50}], np.zeros(1))
    at = replace(encoded, serving=np.array([serving]))
    outputs = Outputs.of(problem, explained=True)
    return believe(
        cast("Mixture", known),
        outputs,
        problem,
        at,
        WINDOW,
        caution=Caution(trust=0.9, demand_step=1.25),
        clear=np.array([clear]),
        stable_utilization=0.85,
        highest_utilization=highest_utilization,
        incumbent=at if incumbent else None,
    )


def test_a_latency_at_the_limit_is_safe_in_half_of_all_cases() -> None:
    assert belief_of(Known(0.4, 500.0, 100.0, sd=0.1)).safe[0] == pytest.approx(0.5)
    far_below, far_above = (belief_of(Known(0.4, us, 100.0, sd=0.1)).safe[0] for us in (250.0, 1000.0))
    assert far_below > 0.999
    assert far_above < 0.001


def test_a_steady_latency_stays_below_the_limit_by_so_much_of_a_windows_noise() -> None:
    below_us = 500.0 * math.exp(-2.0 * 0.02)
    assert belief_of(Known(0.4, below_us, 100.0, sd=0.1), steady=2.0).safe[0] == pytest.approx(0.5)
    at_most_us = 500.0 * math.exp(-0.05)
    assert belief_of(Known(0.4, at_most_us, 100.0, sd=0.1), steady=9.0).safe[0] == pytest.approx(0.5)


def test_a_model_that_knows_nothing_of_a_hopeless_latency_finds_it_implausible() -> None:
    hopeless = belief_of(Known(0.4, 2000.0, 100.0, sd=2.0))
    assert hopeless.safe[0] > 0.2
    assert hopeless.plausible[0] < 1e-6


def test_cores_that_can_not_keep_up_are_unstable_where_utilization_is_measured() -> None:
    assert belief_of(Known(0.5, 200.0, 100.0, sd=0.05)).stable[0] > 0.999
    assert belief_of(Known(0.95, 200.0, 100.0, sd=0.05)).stable[0] < 0.05
    assert belief_of(Known(0.95, 200.0, 100.0, sd=0.05, utilization=False)).stable[0] == 1.0


def test_half_of_the_cores_keep_up_with_half_of_the_utilization() -> None:
    assert belief_of(Known(0.5, 200.0, 100.0, sd=0.05), serving=0.5).stable[0] < 0.05
    assert belief_of(Known(0.3, 200.0, 100.0, sd=0.05), serving=0.5).stable[0] > 0.99


def test_demand_is_relative_to_what_met_the_slo() -> None:
    assert belief_of(Known(0.5, 200.0, 100.0, sd=0.05), highest_utilization=0.4).demand[0] == pytest.approx(1.25)
    assert belief_of(Known(0.5, 200.0, 100.0, sd=0.05)).demand[0] == math.inf


@pytest.mark.parametrize(("busier", "stable"), [(1.2, 1.0), (1.3, 0.0)])
def test_where_utilization_is_not_measured_the_demand_may_go_up_by_a_step(busier: float, stable: float) -> None:
    known = Known(busier * 0.5, 100.0, 100.0, sd=0.05, utilization=False)
    assert belief_of(known, highest_utilization=0.5).stable[0] == stable


@pytest.mark.parametrize(("objective", "value", "sd"), [("power", 100.0, 5.0), ("power_w^2", 1e4, 1e3)])
def test_the_objective_carries_the_uncertainty_of_what_it_is_made_of(objective: str, value: float, sd: float) -> None:
    belief = belief_of(Known(0.4, 200.0, 100.0, sd=0.05), objective)
    assert belief.objective[0] == pytest.approx(value)
    # Of the doubt, one window with noise of 2 % takes away a part.
    assert belief.lesson[0] == pytest.approx(sd * 0.05 / math.hypot(0.05, 0.02), rel=0.01)


def test_a_window_of_the_incumbent_itself_teaches_nothing_about_the_difference() -> None:
    assert belief_of(Known(0.4, 200.0, 100.0, sd=0.05), incumbent=True).lesson[0] < 1e-9


def test_energy_is_that_of_one_window() -> None:
    assert belief_of(Known(0.4, 200.0, 100.0, sd=0.05), "energy_j").objective[0] == pytest.approx(200.0)


def test_an_expression_without_a_value_is_worth_no_trial() -> None:
    belief = belief_of(Known(0.4, 200.0, 100.0, sd=0.05), "power_w / (p99_us - p99_us)")
    assert belief.objective[0] > 1e99
    assert math.isfinite(belief.objective[0])


def test_a_promise_counts_only_as_far_as_it_can_be_trusted() -> None:
    belief = belief_of(Known(0.4, 500.0, 100.0, sd=0.1))
    free, constrained = (belief.promise(120.0, constrained=c)[0] for c in (False, True))
    assert free == pytest.approx(20.0, rel=0.05)
    assert constrained == pytest.approx(free * belief.trusted[0])
    assert 0.0 < belief.trusted[0] < 1.0


def test_a_promise_counts_only_as_far_as_no_cliff_is_in_the_way() -> None:
    known = Known(0.4, 200.0, 100.0, sd=0.1)
    clear, doubtful = (belief_of(known, clear=c).promise(120.0, constrained=True)[0] for c in (1.0, 0.5))
    assert doubtful == pytest.approx(0.5 * clear)


@pytest.mark.parametrize(("mean", "sd"), [(1.0, 0.2), (0.9, 0.05), (1.3, 0.3)])
def test_expected_improvement_is_the_mean_of_what_is_gained(mean: float, sd: float) -> None:
    draws = np.random.default_rng(1).normal(mean, sd, 400_000)
    expected = np.maximum(1.0 - draws, 0.0).mean()
    assert expected_improvement(np.array([mean]), np.array([sd]), 1.0)[0] == pytest.approx(expected, rel=0.02, abs=1e-5)
