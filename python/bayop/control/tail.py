"""How many requests were slower than a limit, from the latency quantiles of a window."""

from __future__ import annotations

import math

from bayop.measurement import Measurement
from bayop.slo import quantile_of


def share_over(measurement: Measurement, limit_us: float) -> float:
    """Share of the window's requests (0-1) that were slower than `limit_us`.

    Between two measured quantiles the logarithm of the share falls linearly with the logarithm of the latency (a
    power-law tail); beyond the last one the last slope continues. With fewer than two quantiles there is no slope, and
    the share is that of the nearest quantile on the safe side: never fewer slow requests than were measured.
    """
    tail = _survival(measurement)
    below = [point for point in tail if point[0] <= limit_us]
    above = [point for point in tail if point[0] > limit_us]
    if not below:
        return 1.0
    if above:
        return _between(below[-1], above[0], limit_us)
    if len(below) < 2:
        return below[-1][1]
    return min(below[-1][1], _between(below[-2], below[-1], limit_us))


def _survival(measurement: Measurement) -> list[tuple[float, float]]:
    """(latency in us, share of requests slower than it), the latency strictly ascending."""
    points: dict[float, float] = {}
    for name, latency_us in measurement.quantities.items():
        quantile = quantile_of(name)
        # The slowest request of a window says nothing about a share, and its share of 0 has no logarithm.
        if quantile is not None and quantile < 1.0 and latency_us > 0:
            points[latency_us] = min(1.0 - quantile, points.get(latency_us, 1.0))
    return sorted(points.items())


def _between(left: tuple[float, float], right: tuple[float, float], limit_us: float) -> float:
    (x0, s0), (x1, s1) = left, right
    span = math.log(x1) - math.log(x0)
    # Latencies that differ in their last digits only have the same logarithm.
    if s1 >= s0 or span == 0.0:
        return s0
    turn = (math.log(limit_us) - math.log(x0)) / span
    return math.exp(math.log(s0) + turn * (math.log(s1) - math.log(s0)))
