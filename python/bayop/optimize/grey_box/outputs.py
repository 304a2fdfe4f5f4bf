"""The quantities that the grey box models, and how observations of them become data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from bayop.measurement import Measurement
from bayop.optimize.base import Observation, Problem
from bayop.optimize.grey_box.inputs import Array, Inputs
from bayop.optimize.grey_box.kernel import ResidualKernel
from bayop.optimize.grey_box.model import Data
from bayop.optimize.grey_box.prior import AnalyticPrior

UTILIZATION: Final = 0
LATENCY: Final = 1
"""Index of the SLO's quantile among the outputs; `needed` keeps these two first."""

# Derived quantities: known exactly once the modelled ones are.
_DERIVED: Final = frozenset({"energy_j", "duration_s", "qps"})

# Relative sd of a measurement whose target does not know it.
_DEFAULT_NOISE: Final = {"power_w": 0.01, "utilization": 0.01}
_DEFAULT_LATENCY_NOISE: Final = 0.05
# A bound is no measurement: the little that is left keeps the equations regular.
_BOUND_NOISE: Final = 0.005

# How far the analytic prior is off, as the sd of a logarithm: (utilization, latency, power).
_RESIDUAL_SD: Final = (0.03, 0.08, 0.02)

# The effect of a knob that no prior explains, and of every knob when the prior is switched off.
_UNEXPLAINED_SD: Final = 0.5


@dataclass(frozen=True, slots=True)
class Outputs:
    """Names of the modelled quantities; the first three are those of the analytic prior.

    Attributes:
        names: `utilization`, the SLO's quantile, `power_w`, then whatever else the objective reads.
        prior: The analytic prior of the first three, or None to search without any.
    """

    names: tuple[str, ...]
    prior: AnalyticPrior | None

    @classmethod
    def of(cls, problem: Problem, *, explained: bool) -> Outputs:
        """The outputs that a problem needs."""
        modelled = ("utilization", problem.slo.quantity, "power_w")
        others = sorted(problem.objective.quantities - _DERIVED - set(modelled))
        return cls((*modelled, *others), AnalyticPrior(problem.slo.quantile) if explained else None)

    def needed(self, problem: Problem) -> list[int]:
        """Indices of the outputs that decide a problem: the latency, the power and what else its objective reads."""
        quantities = problem.objective.quantities | {"utilization", problem.slo.quantity, "power_w"}
        return [i for i, name in enumerate(self.names) if name in quantities]

    def kernels(self, scale: float) -> list[ResidualKernel]:
        """One residual kernel for each output; `scale` multiplies what the prior is believed to be off."""
        sds = [s * scale for s in _RESIDUAL_SD] if self.prior else [_UNEXPLAINED_SD * scale] * 3
        sds += [_UNEXPLAINED_SD * scale] * (len(self.names) - 3)
        return [ResidualKernel(sd, _UNEXPLAINED_SD * scale) for sd in sds]

    def data(self, observations: Sequence[Observation], inputs: Inputs, bounds: Mapping[int, float]) -> Data:
        """The observations as entries of (point, output, logarithm, noise); what was not measured has none.

        Args:
            observations: What was told, in order.
            inputs: Their points.
            bounds: For some censored observations, by their index, the logarithm of the least latency that they leave
                possible; it is taken for the latency. Of other censored observations there is no entry.
        """
        entries = [
            (i, o, math.log(value), noise_of(name, observation.measurement))
            for i, observation in enumerate(observations)
            for o, name in enumerate(self.names)
            if (value := observation.measurement.get(name)) is not None
            and value > 0.0
            and not observation.measurement.censored
        ]
        entries += [(i, LATENCY, bound, _BOUND_NOISE) for i, bound in bounds.items()]
        points, outputs, values, sds = (list(column) for column in zip(*entries, strict=True))
        return Data(
            inputs,
            point=np.array(points, dtype=np.intp),
            output=np.array(outputs, dtype=np.intp),
            value=np.array(values, dtype=np.float64),
            sd=np.array(sds, dtype=np.float64),
        )


def noise_of(name: str, measurement: Measurement) -> float:
    """Relative sd of one measured quantity: the target's own figure where it has one."""
    sd = measurement.relative_sd.get(name)
    return sd or _DEFAULT_NOISE.get(name, _DEFAULT_LATENCY_NOISE)


class AnchoredMean:
    """The prior mean of all outputs: the analytic prior, and a constant for each output without one.

    The scale of the machine is taken from the first observation, so that the same priors hold on any machine.
    """

    def __init__(self, outputs: Outputs, data: Data) -> None:
        self._prior = outputs.prior
        self._explained = 3 if outputs.prior else 0
        constants = len(outputs.names) - self._explained
        first = [_first(data, o) for o in range(len(outputs.names))]
        mean = np.array([0.0 if f is None else f for f in first[self._explained :]])
        sd = np.ones(constants)
        if self._prior is not None:
            anchored_mean, anchored_sd = self._prior.anchored(
                first[0], first[1], first[2], data.inputs.rows(data.point[:1])
            )
            mean, sd = np.concatenate([anchored_mean, mean]), np.concatenate([anchored_sd, sd])
        self._mean, self._sd, self._constants = mean, sd, constants

    @property
    def mean(self) -> Array:
        """Prior mean of all parameters."""
        return self._mean

    @property
    def sd(self) -> Array:
        """Their prior standard deviations."""
        return self._sd

    def jacobian(self, theta: Array, at: Inputs) -> tuple[Array, Array]:
        """Values (o, n) and derivatives (o, n, p) of every output's mean."""
        split = len(theta) - self._constants
        value = np.repeat(theta[split:, None], len(at), axis=1)
        jacobian = np.zeros((self._explained + self._constants, len(at), len(theta)))
        for i in range(self._constants):
            jacobian[self._explained + i, :, split + i] = 1.0
        if self._prior is not None:
            prior_value, prior_jacobian = self._prior.jacobian(theta[:split], at)
            value = np.concatenate([prior_value, value])
            jacobian[: self._explained, :, :split] = prior_jacobian
        return value, jacobian


def _first(data: Data, output: int) -> float | None:
    """The logarithm of the first observation of an output."""
    rows = np.flatnonzero(data.output == output)
    return float(data.value[rows[0]]) if len(rows) else None
