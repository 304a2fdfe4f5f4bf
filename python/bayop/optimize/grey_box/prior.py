"""The analytic model of [D] section 3 as a prior mean: utilization, latency quantile and power of a batching server.

Notation, at one point (d = ITR-delay in us, x = f / f_max, r = q / q0 the load relative to the problem's):

    s      share of the queues, and so of the cores, that serve
    v      demand on the serving cores, their utilization before it saturates (0.9: 90 % of their time is needed)
    u      utilization of all cores: s times v saturated softly at 1
    L      the latency quantile that the SLO bounds, in us; of several quantiles each has its own t, g, w and k
    P      power, in W

    v = v0 / s r^e x^-a ((1 - b) + b / (1 + d r / d0))       batching makes requests cheaper as d grows
    L = t ((1 - g) + g x^-a (1 + w h v / (1 - h v))) + k d   fixed part, service and queueing, wait for the interrupt
    P = p0 ((1 - y) + y (z + (1 - z) u / u0) x^c)            static part; dynamic part, some of it while idle

Every parameter has a weakly informative prior. Where the size of a quantity depends on the machine (v0, t, p0) it is
wide, so that the first measurement sets it; d0 and t are relative to the delay that is typical of the search, so that
a service of 10 us and one of 1 s are treated alike; the others are shapes that hold for any server of this kind.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import numpy as np
from scipy.special import expit

from bayop.optimize.grey_box.inputs import Array, Inputs
from bayop.optimize.server_class import Spread

_TYPICAL_UTILIZATION: Final = 0.4
_ANCHORED_SD: Final = 0.5
_SATURATION_POWER: Final = 8.0
_QUEUE_SOFTNESS: Final = 0.02
_LEAST_SLACK: Final = 1e-6
_OUTPUTS: Final = 3


def _logit(share: float) -> float:
    return math.log(share / (1.0 - share))


# Parameters in the order of the vector theta; `log` and `logit` say on which scale a parameter is normal.
_PARAMETERS: Final[dict[str, Spread]] = {
    "log v0": Spread(math.log(_TYPICAL_UTILIZATION), 1.0),
    "e": Spread(0.9, 0.15),
    "a": Spread(0.8, 0.2),
    "logit b": Spread(_logit(0.25), 1.2),
    "log d0": Spread(0.0, 1.0),  # plus the logarithm of the typical delay, as for t
    "log t": Spread(math.log(5.0 / 3.0), 2.0),
    "logit g": Spread(_logit(0.5), 1.0),
    "log w": Spread(math.log(0.5), 1.0),
    "log h": Spread(math.log(1.0), 0.15),
    "log k": Spread(0.0, 0.3),
    "log p0": Spread(math.log(100.0), 2.0),
    "logit y": Spread(_logit(0.5), 0.8),
    "logit z": Spread(_logit(0.25), 1.0),
    "c": Spread(2.0, 0.5),
}
_INDEX: Final = {name: i for i, name in enumerate(_PARAMETERS)}
_SCALES: Final = ("log v0", "log t", "log p0")

SHAPES: Final = MappingProxyType({name: p for name, p in _PARAMETERS.items() if name not in _SCALES})
"""The parameters that servers of a class can have in common, with what holds for any server; those of "log d0" and
"log k" are relative to the typical delay and the quantile."""
_OF_QUANTILE: Final = ("log t", "logit g", "log w", "log k")


@dataclass(frozen=True, slots=True)
class AnalyticPrior:
    """The prior means of utilization, one latency quantile, power, and then of other latency quantiles.

    Attributes:
        quantile: The SLO's quantile; a packet that arrives at a random time waits up to d for its interrupt, so
            the wait's quantile is about `quantile * d`.
        typical_delay_us: The order of the delays that matter to the service, in us.
        shapes: What is known of the shapes, some or all of `SHAPES`.
        also: The other quantiles. They share the demand on the cores, and so the cliff, with the first.
    """

    quantile: float
    typical_delay_us: float
    shapes: Mapping[str, Spread] = field(default_factory=dict)
    also: tuple[float, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters in the order of theta: `e`, or `log v0` and `logit b` with the scale that they are on."""
        return (*_PARAMETERS, *(f"{name} of p{100 * q:g}" for q in self.also for name in _OF_QUANTILE))

    @property
    def mean(self) -> Array:
        """Prior mean of theta, shape (p,)."""
        theta = np.array([p.mean for p in self._parameters.values()])
        names = list(_PARAMETERS)
        theta[[names.index("log d0"), names.index("log t")]] += math.log(self.typical_delay_us)
        own = theta[[names.index(name) for name in _OF_QUANTILE]]
        theta[names.index("log k")] = math.log(self.quantile)
        return np.concatenate([theta, *([*own[:-1], math.log(q)] for q in self.also)])

    @property
    def sd(self) -> Array:
        """Prior standard deviation of theta, shape (p,)."""
        own = [self._parameters[name].sd for name in _OF_QUANTILE]
        return np.array([*(p.sd for p in self._parameters.values()), *(own * len(self.also))])

    @property
    def _parameters(self) -> Mapping[str, Spread]:
        return _PARAMETERS | dict(self.shapes)

    @property
    def _of_quantiles(self) -> Iterator[tuple[int, list[int]]]:
        """For each quantile the index of its output, and those of its own parameters in theta."""
        yield 1, [_INDEX[name] for name in _OF_QUANTILE]
        for i in range(len(self.also)):
            first = len(_PARAMETERS) + i * len(_OF_QUANTILE)
            yield _OUTPUTS + i, list(range(first, first + len(_OF_QUANTILE)))

    def anchored(
        self,
        log_u: float | None,
        log_latency: float | None,
        log_power: float | None,
        at: Inputs,
        *,
        log_also: Sequence[float | None] = (),
    ) -> tuple[Array, Array]:
        """Mean and sd of theta with the machine's scale taken from one observation at the point `at`.

        The scales v0, t and p0 are set so that the prior mean passes through what was observed there; they stay
        uncertain, because the observation may be explained by the shapes instead.
        """
        theta, sd = self.mean, self.sd
        names = list(_PARAMETERS)
        # In this order: the demand decides about queueing and power.
        scales = [("log v0", log_u), ("log t", log_latency), ("log p0", log_power)]
        indices = [names.index(name) for name, _ in scales]
        indices += range(len(names), len(theta), len(_OF_QUANTILE))
        for output, (i, value) in enumerate(zip(indices, (*(v for _, v in scales), *log_also), strict=False)):
            if value is not None:
                theta[i] += value - float(self.evaluate(theta, at)[output, 0])
                sd[i] = _ANCHORED_SD
        return theta, sd

    def evaluate(self, theta: Array, at: Inputs) -> Array:
        """The logarithms of u, L and P, and of the other quantiles' L, at n points.

        Args:
            theta: Parameters, shape (p,).
            at: n points.

        Returns:
            Shape (3 + the number of other quantiles, n).
        """
        return self.jacobian(theta, at)[0]

    def jacobian(self, theta: Array, at: Inputs) -> tuple[Array, Array]:
        """`evaluate` and its derivatives by the parameters, shapes (o, n) and (o, n, p)."""
        log_v0, e, a, logit_b, log_d0, _, _, _, log_h, _, log_p0, logit_y, logit_z, c = theta[: len(_PARAMETERS)]
        value = np.empty((_OUTPUTS + len(self.also), len(at)))
        slopes = np.zeros((len(theta), *value.shape))
        log_x = np.log(at.frequency)

        b = expit(logit_b)
        waiting = at.delay_us * np.exp(at.log_load - log_d0)
        batching = (1.0 - b) + b / (1.0 + waiting)
        v = np.exp(log_v0 + e * at.log_load - a * log_x) * batching / at.serving
        # Derivatives of log v by the parameters that it has, the first ones.
        by_b = b * (1.0 - b) * (1.0 / (1.0 + waiting) - 1.0) / batching
        by_d0 = b * waiting / (1.0 + waiting) ** 2 / batching
        demand = np.stack([np.ones_like(v), at.log_load, -log_x, by_b, by_d0])
        own = slice(len(demand))

        full = v**_SATURATION_POWER
        value[0] = np.log(at.serving * v) - np.log1p(full) / _SATURATION_POWER
        slopes[own, 0] = demand / (1.0 + full)

        hot = np.exp(log_h) * v
        slack, slack_slope = _softplus(1.0 - hot)
        queue = hot / slack
        queue_slope = queue + queue**2 * slack_slope  # by log v, and by log h
        speed = np.exp(-a * log_x)
        for output, indices in self._of_quantiles:
            log_t, logit_g, log_w, log_k = theta[indices]
            g, t, w, wait = expit(logit_g), np.exp(log_t), np.exp(log_w), np.exp(log_k) * at.delay_us
            service = speed * (1.0 + w * queue)
            busy_us = t * ((1.0 - g) + g * service)
            latency_us = busy_us + wait
            of_service = t * g / latency_us
            of_queue = of_service * speed * w * queue_slope
            value[output] = np.log(latency_us)
            slopes[own, output] = of_queue * demand
            slopes[_INDEX["a"], output] -= of_service * service * log_x
            slopes[_INDEX["log h"], output] = of_queue
            by_g = of_service * (1.0 - g) * (service - 1.0)
            by_w = of_service * speed * w * queue
            for index, by in zip(indices, (busy_us / latency_us, by_g, by_w, wait / latency_us), strict=True):
                slopes[index, output] = by

        y, z = expit(logit_y), expit(logit_z)
        relative = np.exp(value[0]) / _TYPICAL_UTILIZATION
        clock = np.exp(c * log_x)
        busy = z + (1.0 - z) * relative
        power = (1.0 - y) + y * busy * clock
        value[2] = log_p0 + np.log(power)
        slopes[:, 2] = slopes[:, 0] * (y * (1.0 - z) * relative * clock / power)
        slopes[_INDEX["log p0"], 2] = 1.0
        slopes[_INDEX["logit y"], 2] = y * (1.0 - y) * (busy * clock - 1.0) / power
        slopes[_INDEX["logit z"], 2] = y * z * (1.0 - z) * (1.0 - relative) * clock / power
        slopes[_INDEX["c"], 2] = y * busy * clock * log_x / power
        return value, slopes.transpose(1, 2, 0)


def _softplus(x: Array) -> tuple[Array, Array]:
    """max(x, 0) rounded off, so that the queue grows smoothly beyond saturation, and its slope.

    It is never 0, however far beyond.
    """
    value = _QUEUE_SOFTNESS * np.logaddexp(0.0, x / _QUEUE_SOFTNESS)
    is_least = value < _LEAST_SLACK
    return np.where(is_least, _LEAST_SLACK, value), np.where(is_least, 0.0, expit(x / _QUEUE_SOFTNESS))
