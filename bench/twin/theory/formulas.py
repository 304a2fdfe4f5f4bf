"""What queueing theory says exactly of a bare server.

Times are in any one unit, rates in its inverse. `load` is the arrival rate times the mean service time, `variation` the
squared coefficient of variation of service times (1 for exponential ones, 0 for constant ones).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import integrate, optimize, special

Survival = Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]
"""The share of service times that are longer, by time in mean service times."""

_STEP: Final = 0.02
_STEPS: Final = 2**21
"""Where the distribution of latencies is computed: so far apart, in mean service times, and so many."""


def log_normal_variation(log_sd: float) -> float:
    """The variation of log-normal times from the standard deviation of their logarithm."""
    return math.expm1(log_sd**2)


def log_normal_quantile(log_sd: float, quantile: float) -> float:
    """A quantile of log-normal times of mean 1."""
    return math.exp(log_sd * (NormalDist().inv_cdf(quantile) - log_sd / 2.0))


def mixture_variation(share: float, factor: float) -> float:
    """The variation of times that are constant, but for a share of them that is so many times as long."""
    mean = 1.0 - share + share * factor
    return (1.0 - share + share * factor**2) / mean**2 - 1.0


def mg1_mean(service: float, load: float, variation: float) -> float:
    """Mean latency of M/G/1, waiting and service (Pollaczek and Khinchine)."""
    return service * (1.0 + load * (1.0 + variation) / (2.0 * (1.0 - load)))


def mm1_quantile(service: float, load: float, quantile: float) -> float:
    """A quantile of the latency of M/M/1, which is exponential."""
    return -math.log1p(-quantile) * service / (1.0 - load)


def constant_survival(times: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Of constant service times."""
    return (times < 1.0).astype(np.float64)


def log_normal_survival(log_sd: float) -> Survival:
    """Of log-normal service times of mean 1."""

    def survival(times: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        with np.errstate(divide="ignore"):
            return np.asarray(special.ndtr(-(np.log(times) / log_sd + log_sd / 2.0)))

    return survival


@cache
def mg1_quantile(service: float, load: float, survival: Survival, quantile: float) -> float:
    """A quantile of the latency of M/G/1.

    The wait is a sum of residual service times, `n` of them with probability `(1 - load) load^n` (Beneš), whose
    density is the survival function over the mean; on a grid, by Fourier transforms.
    """
    edges = np.maximum(np.arange(_STEPS + 1) - 0.5, 0.0) * _STEP
    alive = survival(edges)
    widths = np.diff(edges)
    residual = 0.5 * (alive[:-1] + alive[1:]) * widths
    residual /= residual.sum()
    waits = (1.0 - load) / (1.0 - load * np.fft.rfft(residual))
    latencies = np.fft.irfft(waits * np.fft.rfft(-np.diff(alive)), _STEPS)
    reached = np.cumsum(latencies)
    at = int(np.searchsorted(reached, quantile))
    below = reached[at - 1] if at else 0.0
    return float(service * (edges[at] + widths[at] * (quantile - below) / (reached[at] - below)))


def gim1_pareto_mean(service: float, load: float, shape: float) -> float:
    """Mean latency of GI/M/1 with generalized-Pareto gaps.

    It is `service / (1 - s)`, where `s = E[exp(-(1 - s) gap)]` with gaps in mean service times.
    """

    def excess(s: float) -> float:
        def integrand(u: float) -> float:
            gap = (u**-shape - 1.0) * (1.0 - shape) / shape / load
            return math.exp(-(1.0 - s) * gap)

        return float(integrate.quad(integrand, 0.0, 1.0)[0]) - s

    return service / (1.0 - float(optimize.brentq(excess, 1e-6, 1.0 - 1e-6)))


def erlang_c_mean(service: float, load: float, servers: int) -> float:
    """Mean latency of M/M/c, one queue for all; `load` is that of each server."""
    offered = load * servers
    blocking = 1.0  # Erlang's B by its recursion
    for count in range(1, servers + 1):
        blocking = offered * blocking / (count + offered * blocking)
    waiting = blocking / (1.0 - load * (1.0 - blocking))
    return service * (1.0 + waiting / (servers * (1.0 - load)))
