from __future__ import annotations

import math

import numpy as np
import pytest

from bayop.domains import Steps
from bayop.measurement import Measurement
from bayop.objective import Objective
from bayop.optimize.base import Observation, Problem
from bayop.optimize.grey_box.inputs import Encoder, Inputs, typical_delay_us
from bayop.optimize.grey_box.outputs import LATENCY, AnchoredMean, Outputs, noise_of
from bayop.slo import Slo
from bayop.space import RX_USECS, Knob, Space
from bayop.testing.fakes import make_problem, papers_space

SLO = Slo.parse("p99<500us")
SPACE = Space((Knob(RX_USECS, Steps(0, 400, 2)),))


def problem(objective: str = "power") -> Problem:
    return Problem(SPACE, SLO, Objective.parse(objective, SLO), 600_000.0)


def observed(rx_usecs: float, *, cut_short: str | None = None, **quantities: float) -> Observation:
    return Observation({RX_USECS: rx_usecs}, Measurement(quantities, cut_short=cut_short), 600_000.0)


def inputs_of(*observations: Observation) -> Inputs:
    return Encoder(SPACE, typical_delay_us(SPACE, SLO)).encode(
        [o.setting for o in observations], np.zeros(len(observations))
    )


def test_an_objective_adds_the_quantities_that_it_reads_unless_they_follow_from_others() -> None:
    assert Outputs.of(problem(), explained=True).names == ("utilization", "p99_us", "power_w")
    more = Outputs.of(problem("energy_j * p50_us"), explained=True)
    assert more.names == ("utilization", "p99_us", "power_w", "p50_us")
    assert more.needed(problem()) == [0, 1, 2], "what another objective read is not needed for this one"


def test_without_the_prior_everything_is_unexplained() -> None:
    known, unknown = (Outputs.of(problem(), explained=explained).kernels() for explained in (True, False))
    assert len(known) == len(unknown) == 3
    assert Outputs.of(problem(), explained=False).prior is None
    assert [k == u for k, u in zip(known, unknown, strict=True)] == [False, False, False]


def test_what_was_not_measured_has_no_entry() -> None:
    observations = [observed(50, power_w=100.0, p99_us=200.0), observed(80, power_w=90.0, utilization=0.5)]
    outputs = Outputs.of(problem(), explained=True)
    data = outputs.data(observations, inputs_of(*observations), {}, frozenset())
    entries = [(int(p), outputs.names[o]) for p, o in zip(data.point, data.output, strict=True)]
    assert entries == [(0, "p99_us"), (0, "power_w"), (1, "utilization"), (1, "power_w")]
    assert np.exp(data.value).tolist() == pytest.approx([200.0, 100.0, 0.5, 90.0])


def test_a_window_that_was_cut_short_says_its_bound_alone() -> None:
    observations = [
        observed(50, power_w=100.0, p99_us=200.0),
        observed(300, power_w=1.0, p99_us=900.0, cut_short="it did harm"),
        observed(400, power_w=1.0, p99_us=900.0, cut_short="it did harm"),
    ]
    outputs = Outputs.of(problem(), explained=True)
    data = outputs.data(observations, inputs_of(*observations), {1: (LATENCY, math.log(1000.0))}, frozenset())
    assert data.point.tolist() == [0, 0, 1]
    assert data.output.tolist()[-1] == LATENCY
    assert data.value[-1] == pytest.approx(math.log(1000.0))
    assert data.is_bound.tolist() == [False, False, True]


def test_a_fall_says_nothing_of_the_height_of_the_cliff() -> None:
    observations = [observed(50, power_w=100.0, p99_us=200.0), observed(300, power_w=90.0, p99_us=9000.0)]
    outputs = Outputs.of(problem(), explained=True)
    data = outputs.data(observations, inputs_of(*observations), {}, {1})
    entries = [(int(p), outputs.names[o]) for p, o in zip(data.point, data.output, strict=True)]
    assert entries == [(0, "p99_us"), (0, "power_w"), (1, "power_w")]


@pytest.mark.parametrize("sd", [0.0, 1e-12])
def test_no_window_is_perfectly_sure(sd: float) -> None:
    assert noise_of("p99_us", Measurement({"p99_us": 200.0}, relative_sd={"p99_us": sd})) >= 0.001


def test_a_targets_own_noise_comes_first() -> None:
    measurement = Measurement({"power_w": 100.0, "p99_us": 200.0, "p50_us": 80.0}, relative_sd={"p99_us": 0.12})
    assert noise_of("p99_us", measurement) == 0.12
    assert noise_of("power_w", measurement) < noise_of("p50_us", measurement), "a meter is more exact than a tail"


def test_the_mean_starts_at_the_first_observation_of_any_machine() -> None:
    for power_w in (30.0, 400.0):
        observations = [observed(50, power_w=power_w, p99_us=200.0, utilization=0.4, p50_us=70.0)]
        outputs = Outputs.of(problem("power_w * p50_us"), explained=True)
        inputs = inputs_of(*observations)
        mean = AnchoredMean(outputs, outputs.data(observations, inputs, {}, frozenset()))
        value, _ = mean.jacobian(mean.mean, inputs)
        assert np.exp(value[:, 0]).tolist() == pytest.approx([0.4, 200.0, power_w, 70.0], rel=0.25)


def test_the_jacobian_is_the_derivative_of_the_mean() -> None:
    observations = [observed(50, power_w=100.0, p99_us=200.0, utilization=0.4), observed(300, power_w=80.0)]
    outputs = Outputs.of(problem("power_w * p50_us"), explained=True)
    inputs = inputs_of(*observations)
    mean = AnchoredMean(outputs, outputs.data(observations, inputs, {}, frozenset()))
    theta, step = mean.mean, 1e-6
    _, jacobian = mean.jacobian(theta, inputs)
    for i in range(len(theta)):
        moved = step * np.eye(len(theta))[i]
        above, below = mean.jacobian(theta + moved, inputs)[0], mean.jacobian(theta - moved, inputs)[0]
        assert jacobian[:, :, i] == pytest.approx((above - below) / (2 * step), abs=1e-5)


def test_every_quantile_of_the_slo_is_an_output() -> None:
    several = make_problem(papers_space(), slo="p50<100us,p99<400us,p90<200us", objective="power_w * p50_us")
    outputs = Outputs.of(several, explained=True)
    assert outputs.names == ("utilization", "p99_us", "power_w", "p90_us", "p50_us")
    assert outputs.needed(several) == [0, 1, 2, 3, 4]
    assert outputs.log_limits(several.slo) == {1: math.log(400), 3: math.log(200), 4: math.log(100)}
    assert len(outputs.kernels()) == 5
