"""The analytic model of [D] section 3 as a prior mean: utilization, latency quantile and power of a batching server.

Notation, at one point (d = ITR-delay in us, x = f / f_max, r = q / q0 the load relative to the problem's):

    v      demand on the cores, the utilization before it saturates (0.9: 90 % of all core time is needed)
    u      utilization, v saturated softly at 1
    L      the latency quantile that the SLO bounds, in us
    P      power, in W

    v = v0 r^e x^-a ((1 - b) + b / (1 + d r / d0))           batching makes requests cheaper as d grows
    L = t ((1 - g) + g x^-a (1 + w h v / (1 - h v))) + k d   fixed part, service and queueing, wait for the interrupt
    P = p0 ((1 - y) + y (z + (1 - z) u / u0) x^c)            static part; dynamic part, some of it while idle

Every parameter has a weakly informative prior. Where the size of a quantity depends on the machine (v0, t, p0) it is
wide, so that the first measurement sets it; the others are shapes that hold for any server of this kind.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from bayop.optimize.grey_box.inputs import Array, Inputs


class _Parameter(NamedTuple):
    mean: float
    sd: float


_TYPICAL_UTILIZATION: Final = 0.4
_ANCHORED_SD: Final = 0.5
_SATURATION_POWER: Final = 8.0
_QUEUE_SOFTNESS: Final = 0.02
_LEAST_SLACK: Final = 1e-6


def _logit(share: float) -> float:
    return math.log(share / (1.0 - share))


# Parameters in the order of the vector theta; `log` and `logit` say on which scale a parameter is normal.
_PARAMETERS: Final[dict[str, _Parameter]] = {
    "log v0": _Parameter(math.log(_TYPICAL_UTILIZATION), 1.0),
    "e": _Parameter(0.9, 0.15),
    "a": _Parameter(0.8, 0.2),
    "logit b": _Parameter(_logit(0.25), 1.2),
    "log d0": _Parameter(math.log(60.0), 1.0),
    "log t": _Parameter(math.log(100.0), 2.0),
    "logit g": _Parameter(_logit(0.5), 1.0),
    "log w": _Parameter(math.log(0.5), 1.0),
    "log h": _Parameter(math.log(1.0), 0.15),
    "log k": _Parameter(0.0, 0.3),
    "log p0": _Parameter(math.log(100.0), 2.0),
    "logit y": _Parameter(_logit(0.5), 0.8),
    "logit z": _Parameter(_logit(0.25), 1.0),
    "c": _Parameter(2.0, 0.5),
}


@dataclass(frozen=True, slots=True)
class AnalyticPrior:
    """The three prior means for one latency quantile.

    Attributes:
        quantile: The SLO's quantile; a packet that arrives at a random time waits up to d for its interrupt, so
            the wait's quantile is about `quantile * d`.
    """

    quantile: float

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters in the order of theta: `e`, or `log v0` and `logit b` with the scale that they are on."""
        return tuple(_PARAMETERS)

    @property
    def mean(self) -> Array:
        """Prior mean of theta, shape (p,)."""
        theta = np.array([p.mean for p in _PARAMETERS.values()])
        theta[list(_PARAMETERS).index("log k")] = math.log(self.quantile)
        return theta

    @property
    def sd(self) -> Array:
        """Prior standard deviation of theta, shape (p,)."""
        return np.array([p.sd for p in _PARAMETERS.values()])

    def anchored(
        self, log_u: float | None, log_latency: float | None, log_power: float | None, at: Inputs
    ) -> tuple[Array, Array]:
        """Mean and sd of theta with the machine's scale taken from one observation at the point `at`.

        The scales v0, t and p0 are set so that the prior mean passes through what was observed there; they stay
        uncertain, because the observation may be explained by the shapes instead.
        """
        theta, sd = self.mean, self.sd
        names = list(_PARAMETERS)
        # In this order: the demand decides about queueing and power.
        scales = [("log v0", 0, log_u), ("log t", 1, log_latency), ("log p0", 2, log_power)]
        for name, output, value in scales:
            if value is not None:
                i = names.index(name)
                theta[i] += value - float(self.evaluate(theta, at)[output, 0])
                sd[i] = _ANCHORED_SD
        return theta, sd

    def evaluate(self, theta: Array, at: Inputs) -> Array:
        """The logarithms of u, L and P.

        Args:
            theta: Parameters, shape (..., p); leading axes are evaluated at once.
            at: n points.

        Returns:
            Shape (..., 3, n).
        """
        columns = theta[..., None, :]
        log_v0, e, a, logit_b, log_d0, log_t, logit_g, log_w, log_h, log_k, log_p0, logit_y, logit_z, c = (
            columns[..., i] for i in range(len(_PARAMETERS))
        )
        b, g, y, z = (1.0 / (1.0 + np.exp(-s)) for s in (logit_b, logit_g, logit_y, logit_z))
        log_x = np.log(at.frequency)
        load = np.exp(at.log_load)
        batching = (1.0 - b) + b / (1.0 + at.delay_us * load / np.exp(log_d0))
        v = np.exp(log_v0 + e * at.log_load - a * log_x) * batching
        log_u = np.log(v) - np.log1p(v**_SATURATION_POWER) / _SATURATION_POWER
        hot = np.exp(log_h) * v
        queue = hot / _softplus(1.0 - hot)
        service = np.exp(-a * log_x) * (1.0 + np.exp(log_w) * queue)
        latency = np.exp(log_t) * ((1.0 - g) + g * service) + np.exp(log_k) * at.delay_us
        busy = z + (1.0 - z) * np.exp(log_u) / _TYPICAL_UTILIZATION
        power = (1.0 - y) + y * busy * np.exp(c * log_x)
        return np.stack(np.broadcast_arrays(log_u, np.log(latency), log_p0 + np.log(power)), axis=-2)

    def jacobian(self, theta: Array, at: Inputs) -> tuple[Array, Array]:
        """`evaluate` and its derivative by forward differences, shapes (3, n) and (3, n, p)."""
        step = 1e-5
        shifted = theta + np.vstack([np.zeros_like(theta), step * np.eye(len(theta))])
        values = self.evaluate(shifted, at)
        return values[0], np.moveaxis((values[1:] - values[0]) / step, 0, -1)


def _softplus(x: Array) -> Array:
    """max(x, 0) rounded off, so that the queue grows smoothly beyond saturation; never 0, however far beyond."""
    return np.maximum(_QUEUE_SOFTNESS * np.logaddexp(0.0, x / _QUEUE_SOFTNESS), _LEAST_SLACK)
