"""The quantities that the grey box models, and how observations of them become data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

import numpy as np

from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.optimize.base import Observation, Problem
from bayop.optimize.grey_box.inputs import Array, Inputs, typical_delay_us
from bayop.optimize.grey_box.kernel import ResidualKernel
from bayop.optimize.grey_box.model import Data
from bayop.optimize.grey_box.prior import AnalyticPrior
from bayop.optimize.server_class import ServerClass
from bayop.slo import Slo

UTILIZATION: Final = 0
LATENCY: Final = 1
"""Index of the SLO's (highest) quantile among the outputs; `needed` keeps these two first."""

# Utilization, one latency, power.
_FIRST: Final = 3

# Derived quantities: known exactly once the modelled ones are.
_DERIVED: Final = frozenset({"energy_j", "duration_s", "qps"})

# Relative sd of a measurement whose target does not know it.
_DEFAULT_NOISE: Final = {"power_w": 0.01, "utilization": 0.01}
_DEFAULT_LATENCY_NOISE: Final = 0.05
# No window is surer than this, whatever it reports; a bound is no measurement, and has it too. It keeps the equations
# regular.
_LEAST_NOISE: Final = 0.001
_BOUND_NOISE: Final = 0.005

# How far the analytic prior is off, as the sd of a logarithm: (utilization, latency, power).
_RESIDUAL_SD: Final = (0.03, 0.08, 0.02)

RESIDUAL_SCALES: Final = MappingProxyType({1.0: 0.4, 2.0: 0.3, 4.0: 0.2, 8.0: 0.1})
"""Probability of each multiple of that, for any server."""

# Probability that a server is of the class that it is said to be of.
_LEARNED: Final = 0.3

# The effect of a knob that no prior explains, and of every knob when the prior is switched off.
_UNEXPLAINED_SD: Final = 0.5


@dataclass(frozen=True, slots=True)
class Outputs:
    """Names of the modelled quantities; the first are those of the analytic prior.

    Attributes:
        names: `utilization`, the SLO's quantile, `power_w`, the SLO's other quantiles, then whatever else the
            objective reads.
        prior: The analytic prior of all but the last of these, or None to search without any.
        also: How many other quantiles the SLO has.
        residual: Prior probability of each multiple of what the analytic prior is believed to be off.
        server_class: What servers like this one have taught of the prior and the residual; None where none have.
    """

    names: tuple[str, ...]
    prior: AnalyticPrior | None
    also: int = 0
    residual: Mapping[float, float] = field(default_factory=lambda: RESIDUAL_SCALES)
    server_class: ServerClass | None = None

    @classmethod
    def of(cls, problem: Problem, *, explained: bool) -> Outputs:
        """The outputs that a problem needs."""
        slo, also = problem.slo, problem.slo.also
        modelled = ("utilization", slo.quantity, "power_w", *(limit.quantity for limit in also))
        others = sorted(problem.objective.quantities - _DERIVED - set(modelled))
        typical, others_of = typical_delay_us(problem.space, slo), tuple(limit.quantile for limit in also)
        prior = AnalyticPrior(slo.quantile, typical, also=others_of) if explained else None
        return cls((*modelled, *others), prior, len(also), server_class=problem.server_class)

    @property
    def hypotheses(self) -> list[tuple[Outputs, float]]:
        """What holds for any server and, where a class is known, what holds for it, each with its prior probability."""
        if self.prior is None or self.server_class is None:
            return [(self, 1.0)]
        shapes, residual = self.server_class.shapes, self.server_class.residual
        learned = replace(self, prior=replace(self.prior, shapes=shapes), residual=residual)
        return [(self, 1.0 - _LEARNED), (learned, _LEARNED)]

    @property
    def latencies(self) -> list[int]:
        """Indices of the quantiles that the SLO bounds, in its order."""
        return [LATENCY, *range(_FIRST, _FIRST + self.also)]

    def needed(self, problem: Problem) -> list[int]:
        """Indices of the outputs that decide a problem: latencies, the power and what else its objective reads."""
        wanted = {*range(_FIRST + self.also), *map(self.names.index, problem.objective.quantities & set(self.names))}
        return sorted(wanted)

    def log_limits(self, slo: Slo) -> dict[int, float]:
        """The logarithms of an SLO's limits, by the index of the output."""
        return {o: math.log(limit.limit_us) for o, limit in zip(self.latencies, slo.limits, strict=True)}

    def kernels(self) -> list[ResidualKernel]:
        """One residual kernel for each output, of the size that the prior is believed to be off at least."""
        sds = [*_RESIDUAL_SD, *[_RESIDUAL_SD[LATENCY]] * self.also] if self.prior else []
        explained = [ResidualKernel(sd, _UNEXPLAINED_SD) for sd in sds]
        others = len(self.names) - len(sds)
        return explained + [ResidualKernel(_UNEXPLAINED_SD, _UNEXPLAINED_SD, explained=False)] * others

    def data(
        self,
        observations: Sequence[Observation],
        inputs: Inputs,
        bounds: Mapping[int, tuple[int, float]],
        falls: AbstractSet[int],
    ) -> Data:
        """The observations as entries of (point, output, logarithm, noise); what was not measured has none.

        Args:
            observations: What was told, in order.
            inputs: Their points.
            bounds: For some censored observations, by their index, an output and the logarithm of the least latency
                that they leave possible; it is taken for the latency. Of other censored observations there is no entry.
            falls: Observations, by their index, whose latencies are left out.

        Raises:
            InputError: there is no entry: nothing that was measured has a logarithm.
        """
        latencies = self.latencies
        entries = [
            (i, o, math.log(value), noise_of(name, observation.measurement))
            for i, observation in enumerate(observations)
            for o, name in enumerate(self.names)
            if (value := observation.measurement.get(name)) is not None
            and value > 0.0
            and not observation.measurement.censored
            and not (i in falls and o in latencies)
        ]
        entries += [(i, o, bound, _BOUND_NOISE) for i, (o, bound) in bounds.items()]
        if not entries:
            raise InputError(
                "a search must have a window with a positive number to learn from",
                wrong=f"no window has shown any of {', '.join(self.names)} above 0",
                hint="look at what the power meter and the source of latency say",
            )
        points, outputs, values, sds = (list(column) for column in zip(*entries, strict=True))
        return Data(
            inputs,
            point=np.array(points, dtype=np.intp),
            output=np.array(outputs, dtype=np.intp),
            value=np.array(values, dtype=np.float64),
            sd=np.array(sds, dtype=np.float64),
            is_bound=np.arange(len(entries)) >= len(entries) - len(bounds),
        )


def noise_of(name: str, measurement: Measurement) -> float:
    """Relative sd of one measured quantity: the target's own figure where it has one."""
    sd = measurement.relative_sd.get(name) or _DEFAULT_NOISE.get(name, _DEFAULT_LATENCY_NOISE)
    return max(sd, _LEAST_NOISE)


class AnchoredMean:
    """The prior mean of all outputs: the analytic prior, and a constant for each output without one.

    The scale of the machine is taken from the first observation that has a latency, so that the same priors hold on
    any machine.
    """

    def __init__(self, outputs: Outputs, data: Data) -> None:
        self._prior = outputs.prior
        self._explained = _FIRST + outputs.also if outputs.prior else 0
        constants = len(outputs.names) - self._explained
        first = [_first(data, o) for o in range(self._explained, len(outputs.names))]
        mean = np.array([0.0 if f is None else f for f in first])
        sd = np.ones(constants)
        if self._prior is not None:
            seen = np.flatnonzero(data.output == LATENCY)
            anchor = data.point[seen[:1]] if len(seen) else data.point[:1]
            log_u, log_latency, log_power, *log_also = (_at(data, o, int(anchor[0])) for o in range(self._explained))
            anchored_mean, anchored_sd = self._prior.anchored(
                log_u, log_latency, log_power, data.inputs.rows(anchor), log_also=log_also
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
        if self._prior is not None and not self._constants:
            return self._prior.jacobian(theta, at)
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


def _at(data: Data, output: int, point: int) -> float | None:
    """The logarithm of an output as observed at one point."""
    rows = np.flatnonzero((data.output == output) & (data.point == point))
    return float(data.value[rows[0]]) if len(rows) else None
