"""Offered load over time, by the hour.

The built-in curves have the shape of two of Twitter's production cache clusters: cache-trace, published with Yang, Yue
and Rashmi, "A large scale analysis of hundreds of in-memory cache clusters at Twitter" (OSDI 2020), CC-BY 4.0. Hourly
request counts of a week were averaged to a mean day, and a Fourier series of three harmonics was fitted to it
(`bench/load_curve.py` prints the coefficients below from the traces).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bayop.errors import InputError
from bayop.load.trace import is_raw, read_raw_trace, read_trace
from bayop.units import HOUR_S

DAY_H: Final = 24

SHAPES: Final[dict[str, tuple[float, ...]]] = {
    "twitter": (1.0, -0.1539, -0.0818, -0.0728, 0.0082, 0.0229, 0.033),
    "twitter-cluster1": (1.0, 0.0219, -0.0379, 0.001, -0.0121, 0.0052, 0.0293),
    "twitter-cluster2": (1.0, -0.3297, -0.1257, -0.1465, 0.0284, 0.0406, 0.0366),
}
"""Name: load relative to the day's mean, as (mean, cos 1, sin 1, cos 2, sin 2, ...) of the time of day."""

DEFAULT_SHAPE: Final = "twitter"


@dataclass(frozen=True, slots=True)
class LoadCurve:
    """A load that is constant within an hour, as [D] replays it.

    Attributes:
        name: Where the shape comes from, for people.
        hourly_qps: Offered load in each hour, in requests/s; after the last hour the curve starts again.
    """

    name: str
    hourly_qps: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.hourly_qps:
            raise InputError(
                "a load curve must have at least one hour", wrong="the load curve is empty", place=self.name
            )
        for hour, qps in enumerate(self.hourly_qps):
            if not (math.isfinite(qps) and qps > 0):
                raise InputError("a load must be positive in every hour", value=qps, place=f"{self.name}, hour {hour}")

    @classmethod
    def built_in(cls, name: str = DEFAULT_SHAPE) -> LoadCurve:
        """A built-in mean day, relative to its mean.

        Raises:
            InputError: there is no curve of this name.
        """
        coefficients = SHAPES.get(name)
        if coefficients is None:
            raise InputError(
                wrong=f"there is no load curve {name!r}", value=name, hint=f"built in: {', '.join(SHAPES)}; or a file"
            )
        return cls(name, tuple(fourier(coefficients, (hour + 0.5) / DAY_H) for hour in range(DAY_H)))

    @classmethod
    def from_file(cls, path: Path) -> LoadCurve:
        """A trace with the columns `hour` and `qps_mean` (or `requests`), one line an hour; or a raw one.

        Raises:
            InputError: with file, line and column.
        """
        return cls(path.name, read_raw_trace(path) if is_raw(path) else read_trace(path))

    @classmethod
    def load(cls, name_or_file: str) -> LoadCurve:
        """A built-in curve by its name, otherwise a file."""
        if name_or_file in SHAPES:
            return cls.built_in(name_or_file)
        path = Path(name_or_file)
        if not path.exists():
            raise InputError(
                "a load curve must be a built-in name or a file",
                value=name_or_file,
                hint=f"built in: {', '.join(SHAPES)}",
            )
        return cls.from_file(path)

    @property
    def peak_qps(self) -> float:
        """The load of the busiest hour."""
        return max(self.hourly_qps)

    def at(self, time_s: float) -> float:
        """Offered load at a time since the curve's start, in requests/s."""
        return self.hourly_qps[int(time_s // HOUR_S) % len(self.hourly_qps)]

    def first(self, hours: int) -> LoadCurve:
        """The curve's first hours; a longer time than the curve's repeats it.

        Raises:
            InputError: less than one hour is asked for.
        """
        if hours < 1:
            raise InputError("an experiment must last at least one hour", value=hours, parameter="hours")
        return LoadCurve(self.name, tuple(self.at(hour * HOUR_S) for hour in range(hours)))

    def scaled_to(self, peak_qps: float) -> LoadCurve:
        """The same shape with another peak."""
        factor = peak_qps / self.peak_qps
        return LoadCurve(self.name, tuple(qps * factor for qps in self.hourly_qps))


def fourier(coefficients: Sequence[float], turn: float) -> float:
    """Value of a Fourier series at `turn` (0-1) of its period.

    Args:
        coefficients: Mean, then a cosine and a sine for each harmonic.
        turn: Share of the period that has passed.
    """
    mean, *pairs = coefficients
    total = mean
    for k, (cosine, sine) in enumerate(zip(pairs[::2], pairs[1::2], strict=True), start=1):
        angle = 2.0 * math.pi * k * turn
        total += cosine * math.cos(angle) + sine * math.sin(angle)
    return total
