"""What the model thinks of settings, in the terms that decisions are made in."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import ndtr

from bayop.expression import Values
from bayop.optimize.base import Problem
from bayop.optimize.grey_box.caution import Caution
from bayop.optimize.grey_box.inputs import Array, Inputs
from bayop.optimize.grey_box.mixture import Mixture, Moments
from bayop.optimize.grey_box.outputs import UTILIZATION, Outputs
from bayop.slo import Slo

_PLAUSIBLE_SD: Final = 0.2
_MOST_STEADY: Final = 0.05
"""At most this share of a limit is given for steady windows: where noise is great, they cost too much."""
_DERIVATIVE_STEP: Final = 1e-4
_WORST: Final = 1e100
_LEAST_VARIANCE: Final = 1e-24


@dataclass(frozen=True, slots=True)
class NextWindow:
    """What the next trial's window will be like.

    Attributes:
        noise_sd: Relative standard deviation of each output, in the order of `Outputs.names`.
        duration_s: Its length, which turns power into energy.
    """

    noise_sd: Sequence[float]
    duration_s: float


@dataclass(frozen=True, slots=True)
class Belief:
    """Arrays of shape (n,), one entry for each setting; `latency_us` has one such row for each limit of the SLO.

    Meeting the SLO is meeting all of its limits.

    Attributes:
        objective: Expected objective.
        lesson: Standard deviation of what one more window would change about the difference to the incumbent's
            objective (the knowledge gradient's: Frazier, Powell & Dayanik 2009, Eq. 11); where there is no incumbent,
            about the objective itself. What a noisy window can't teach promises nothing.
        latency_us: Medians of the latency quantiles, shape (l, n).
        plausible: Probability of meeting the SLO if the model were never more than 20 % unsure of the latency. Near
            saturation it is so unsure that it gives even a very low latency some probability.
        safe: Probability of meeting the SLO with its headroom.
        stable: Probability that the cores keep up with the load. Where utilization is not measured that is 1 up to some
            demand and 0 beyond.
        demand: Median of the utilization, relative to the highest expected of what met the SLO; infinite before that.
        clear: Probability that it does not lie beyond a cliff.
        trusted: Probability that one more window would leave it trusted to meet the SLO.
        outputs: What is modelled.
        moments: What all of this comes from.
    """

    objective: Array
    lesson: Array
    latency_us: Array
    plausible: Array
    safe: Array
    stable: Array
    demand: Array
    clear: Array
    trusted: Array
    outputs: Outputs
    moments: Moments

    def promise(self, reference: float, *, constrained: bool) -> Array:
        """Expected improvement over the objective `reference`, if the setting can be trusted afterwards."""
        gain = expected_improvement(self.objective, self.lesson, reference) * self.clear
        return gain * self.trusted if constrained else gain

    def hope(self, reference: float) -> Array:
        """Improvement over `reference` that is expected if the setting turns out to meet the SLO, times its odds."""
        return np.asarray(np.maximum(reference - self.objective, 0.0) * self.safe)

    def meets(self, slo: Slo) -> Array:
        """Probability of latencies below the limits of an SLO for the same quantiles."""
        return self.moments.below(self.outputs.log_limits(slo))


def expected_improvement(mean: Array, sd: Array, best: float) -> Array:
    """Expected improvement over `best` of Gaussian values to be minimised (Jones, Schonlau & Welch 1998, Eq. 15)."""
    z = (best - mean) / sd
    return np.asarray(sd * (z * ndtr(z) + np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)))


def believe(
    mixture: Mixture,
    outputs: Outputs,
    problem: Problem,
    at: Inputs,
    window: NextWindow,
    *,
    caution: Caution,
    clear: Array,
    stable_utilization: float,
    highest_utilization: float | None,
    incumbent: Inputs | None = None,
) -> Belief:
    """The belief about the points `at`.

    Args:
        mixture: The model.
        outputs: What it models.
        problem: What is searched for.
        at: The n points.
        window: What one more trial would be like.
        caution: How much risk is taken.
        clear: Probability that a point does not lie beyond a cliff, shape (n,).
        stable_utilization: Up to which utilization cores keep up, where all of them serve.
        highest_utilization: The highest that is expected of what met the SLO; None before anything did.
        incumbent: The point to improve on.
    """
    needed = outputs.needed(problem)
    moments = mixture.predict(at, needed, incumbent)
    objective = _Linear(problem, [outputs.names[o] for o in needed], window)
    value, gradient = objective.at(moments.mean_all)
    variance = (gradient**2 * moments.variance_all).sum(axis=0)
    together = np.zeros_like(variance)
    if incumbent is not None:
        _, other = objective.at(np.tensordot(moments.weight, moments.reference, axes=1))
        together = (gradient * other * moments.covariance_all).sum(axis=0)
    noise = (gradient**2 * np.array([[window.noise_sd[o] ** 2] for o in needed])).sum(axis=0)
    limits = {
        o: log_us - min(problem.steady * window.noise_sd[o], _MOST_STEADY)
        for o, log_us in outputs.log_limits(problem.aim).items()
    }
    is_measured = outputs.prior is not None and mixture.has_seen(UTILIZATION)
    most = stable_utilization if is_measured else None
    stable, demand = _bearing(moments, at, caution, most, highest_utilization)
    return Belief(
        objective=value,
        lesson=np.abs(variance - together) / np.sqrt(np.maximum(variance + noise, _LEAST_VARIANCE)) + _LEAST_VARIANCE,
        latency_us=np.exp(moments.mean_all[outputs.latencies]),
        plausible=moments.below(limits, at_most_sd=_PLAUSIBLE_SD),
        safe=moments.below(limits),
        stable=stable,
        demand=demand,
        clear=clear,
        trusted=moments.trusted(limits, window.noise_sd, caution.trust),
        outputs=outputs,
        moments=moments,
    )


def _bearing(
    moments: Moments, at: Inputs, caution: Caution, most: float | None, highest_utilization: float | None
) -> tuple[Array, Array]:
    """Whether the cores bear the load: `Belief.stable` and `Belief.demand`, each of shape (n,).

    Args:
        moments: What the model says of the points.
        at: The n points.
        caution: How much risk is taken.
        most: Up to which utilization cores keep up, where all of them serve; None where utilization is not measured.
        highest_utilization: The highest that is expected of what met the SLO; None before anything did.
    """
    demand, stable = np.full(len(at), np.inf), np.ones(len(at))
    if highest_utilization is not None:
        demand = np.exp(moments.mean_all[UTILIZATION]) / highest_utilization
        stable = np.where(demand <= caution.demand_step, 1.0, 0.0)
    if most is not None:
        stable = moments.below({UTILIZATION: math.log(most) + np.log(at.serving)})
    return stable, demand


class _Linear:
    """The objective and its derivatives by the logarithms of the outputs."""

    def __init__(self, problem: Problem, names: Sequence[str], window: NextWindow) -> None:
        self._problem, self._names, self._window = problem, names, window

    def at(self, logs: Array) -> tuple[Array, Array]:
        """Values, shape (n,), and derivatives, shape (o, n), where the outputs' logarithms are `logs`, shape (o, n)."""
        value = self._evaluate(logs)
        gradient = np.zeros_like(logs)
        for i, name in enumerate(self._names):
            if name in self._problem.objective.quantities or name == "power_w":
                shifted = logs.copy()
                shifted[i] += _DERIVATIVE_STEP
                gradient[i] = (self._evaluate(shifted) - value) / _DERIVATIVE_STEP
        return value, gradient

    def _evaluate(self, logs: Array) -> Array:
        quantities: Mapping[str, Values] = {
            **dict(zip(self._names, np.exp(logs), strict=True)),
            "qps": self._problem.qps,
            "duration_s": self._window.duration_s,
        }
        quantities = {**quantities, "energy_j": quantities["power_w"] * self._window.duration_s}
        # Far from what was measured an expression may have no value; such settings are not worth a trial.
        with np.errstate(all="ignore"):
            objective = np.asarray(self._problem.objective.value(quantities), dtype=np.float64)
        return np.nan_to_num(np.broadcast_to(objective, logs[0].shape), nan=_WORST, posinf=_WORST)
