"""What the model thinks of settings, in the terms that decisions are made in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from bayop.expression import Values
from bayop.optimize.base import Problem
from bayop.optimize.grey_box.acquisition import expected_improvement, probability_below, probability_of_trust
from bayop.optimize.grey_box.inputs import Array, Inputs
from bayop.optimize.grey_box.model import Posterior
from bayop.optimize.grey_box.outputs import LATENCY, UTILIZATION, Outputs

# Above this utilization some core or queue of an unevenly loaded server can't keep up.
_STABLE_UTILIZATION: Final = 0.85
_PLAUSIBLE_SD: Final = 0.2
_DERIVATIVE_STEP: Final = 1e-4
_WORST: Final = 1e100


@dataclass(frozen=True, slots=True)
class Belief:
    """Arrays of shape (n,), one entry for each setting.

    Attributes:
        objective: Expected objective.
        objective_sd: Its standard deviation.
        log_latency: Expected logarithm of the latency quantile in us.
        log_latency_sd: Its standard deviation.
        plausible: Probability of meeting the SLO if the model were never more than 20 % unsure of the latency. Near
            saturation it is so unsure that it gives even a very low latency some probability.
        safe: Probability of meeting the SLO.
        stable: Probability that the cores keep up with the load; 1 where utilization is not measured.
        trusted: Probability that one more trial would leave it trusted to meet the SLO.
    """

    objective: Array
    objective_sd: Array
    log_latency: Array
    log_latency_sd: Array
    plausible: Array
    safe: Array
    stable: Array
    trusted: Array

    def promise(self, reference: float, *, constrained: bool) -> Array:
        """Expected improvement over the objective `reference`, if the setting can be trusted afterwards."""
        gain = expected_improvement(self.objective, self.objective_sd, reference)
        return gain * self.trusted if constrained else gain

    def below(self, latency_us: float) -> Array:
        """Probability of a latency below `latency_us`."""
        return probability_below(self.log_latency, self.log_latency_sd, math.log(latency_us))


@dataclass(frozen=True, slots=True)
class NextWindow:
    """What the next trial's window will be like.

    Attributes:
        latency_sd: Relative standard deviation of its latency quantile.
        duration_s: Its length, which turns power into energy.
    """

    latency_sd: float
    duration_s: float


def believe(
    posterior: Posterior, outputs: Outputs, problem: Problem, at: Inputs, window: NextWindow, *, trust: float
) -> Belief:
    """The belief about the points `at`, for incumbents that must meet the SLO with probability `trust`."""
    needed = outputs.needed(problem)
    mean, sd = posterior.predict(at, needed)
    limit = math.log(problem.aim.limit_us)
    objective, objective_sd = _objective(problem, [outputs.names[o] for o in needed], mean, sd, window)
    stable = probability_below(mean[UTILIZATION], sd[UTILIZATION], math.log(_STABLE_UTILIZATION))
    return Belief(
        objective=objective,
        objective_sd=objective_sd,
        log_latency=mean[LATENCY],
        log_latency_sd=sd[LATENCY],
        plausible=probability_below(mean[LATENCY], np.minimum(sd[LATENCY], _PLAUSIBLE_SD), limit),
        safe=probability_below(mean[LATENCY], sd[LATENCY], limit),
        stable=stable if outputs.prior and posterior.has_seen(UTILIZATION) else np.ones(len(at)),
        trusted=probability_of_trust(mean[LATENCY], sd[LATENCY], limit, window.latency_sd, trust),
    )


def _objective(
    problem: Problem, names: Sequence[str], mean: Array, sd: Array, window: NextWindow
) -> tuple[Array, Array]:
    """Mean and sd of the objective, by propagating the outputs' uncertainty to first order."""

    def evaluate(logs: Array) -> Array:
        quantities: dict[str, Values] = dict(zip(names, np.exp(logs), strict=True))
        quantities |= {"qps": problem.qps, "duration_s": window.duration_s}
        quantities["energy_j"] = quantities["power_w"] * window.duration_s
        # Far from what was measured an expression may have no value; such settings are not worth a trial.
        with np.errstate(all="ignore"):
            objective = np.asarray(problem.objective.value(quantities), dtype=np.float64)
        return np.nan_to_num(np.broadcast_to(objective, mean[0].shape), nan=_WORST, posinf=_WORST)

    value = evaluate(mean)
    variance = np.zeros_like(value)
    for i, name in enumerate(names):
        if name in problem.objective.quantities or name == "power_w":
            shifted = mean.copy()
            shifted[i] += _DERIVATIVE_STEP
            variance += ((evaluate(shifted) - value) / _DERIVATIVE_STEP * sd[i]) ** 2
    return value, np.sqrt(np.maximum(variance, 1e-24))
