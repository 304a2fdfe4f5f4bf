"""Days of the published load curves, minute by minute, and days with flash crowds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from bayop.load.curve import DAY_H
from bayop.load.trace import read_trace
from bayop.units import HOUR_S

MINUTE_S: Final = 60.0
DAY_MIN: Final = 1440
TRACES: Final = ("trace_twitter_cluster1_hourly.csv", "trace_twitter_cluster2_hourly.csv")
"""A week each of two production caches by the hour (Yang, Yue and Rashmi, OSDI 2020; CC-BY 4.0)."""

CROWD: Final = 2.0
CROWDS: Final = 4
CROWD_MIN: Final = 15
"""So many times the load, so often a day, for so many minutes: a flash crowd."""


@dataclass(frozen=True, slots=True)
class MinuteCurve:
    """A load that is constant within a minute.

    Attributes:
        name: For people.
        qps: Offered load in each minute, in requests/s.
        crowded: Whether it has flash crowds.
    """

    name: str
    qps: tuple[float, ...]
    crowded: bool = False

    def at(self, time_s: float) -> float:
        """Offered load at a time since the start; the curve starts again after its end."""
        return self.qps[int(time_s / MINUTE_S + 1e-6) % len(self.qps)]

    def scaled_to(self, peak_qps: float) -> MinuteCurve:
        """The same shape with another peak."""
        factor = peak_qps / max(self.qps)
        return replace(self, qps=tuple(factor * qps for qps in self.qps))

    def with_crowds(self, seed: int) -> MinuteCurve:
        """The same day with flash crowds: from one minute to the next the load is twice what it was, and back again."""
        room = DAY_MIN // CROWDS
        draw = random.Random(seed)
        starts = [n * room + draw.randrange(room - CROWD_MIN) for n in range(CROWDS)]
        crowded = {minute for start in starts for minute in range(start, start + CROWD_MIN)}
        qps = tuple(CROWD * qps if minute in crowded else qps for minute, qps in enumerate(self.qps))
        return MinuteCurve(f"{self.name}, flash crowds", qps, crowded=True)


def read_days(folder: Path) -> list[MinuteCurve]:
    """Every day of both traces, in turns: the first of one, the first of the other, the second of one ...

    Between the middles of two hours the load is interpolated linearly.

    Raises:
        InputError: a trace can't be read.
    """
    weeks = [_days(path.stem.split("_")[2], read_trace(path)) for path in (folder / name for name in TRACES)]
    return [day for days in zip(*weeks, strict=True) for day in days]


def _days(name: str, hourly_qps: Sequence[float]) -> list[MinuteCurve]:
    hour_min = HOUR_S / MINUTE_S
    middles = (np.arange(len(hourly_qps)) + 0.5) * hour_min
    minutes = np.interp(np.arange(len(hourly_qps) * hour_min) + 0.5, middles, hourly_qps)
    days = len(hourly_qps) // DAY_H
    return [
        MinuteCurve(f"{name}, day {day + 1}", tuple(map(float, minutes[day * DAY_MIN : (day + 1) * DAY_MIN])))
        for day in range(days)
    ]
