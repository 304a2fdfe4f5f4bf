"""How often a cell is measured: a given number of times, or until its mean is known well enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Final

from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.saving import CONFIDENCE

LEAST_FOR_CI: Final = 3
"""Repeats before a confidence interval is looked at: the scatter of two says next to nothing."""

MOST_FOR_CI: Final = 30
"""Repeats of a cell at most where nobody says."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """When a cell was measured often enough.

    Attributes:
        least: Repeats of every cell.
        most: Repeats of no cell are more; as many as `least` without a half-width.
        quantity: The quantity whose mean has to be known, such as `p99_us`; empty without a half-width.
        half_width: Half of the width of its confidence interval, as a share of the mean; None for `least` repeats.

    Raises:
        InputError: numbers that do not fit each other.
    """

    least: int = 1
    most: int = 1
    quantity: str = ""
    half_width: float | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most:
            raise InputError("a cell must have at least one repeat, and at most as many as its cap", value=self.least)
        if self.half_width is None:
            if self.most != self.least or self.quantity:
                raise InputError(
                    "without a half-width, the number of repeats must be given", value=(self.least, self.most)
                )
        elif not (0.0 < self.half_width < 1.0 and self.quantity and self.least >= 2):
            raise InputError(
                "a half-width must be a share above 0 and below 1, seen in 2 repeats", value=self.half_width
            )

    def enough(self, measurements: Sequence[Measurement]) -> bool:
        """Whether a cell needs no further repeat.

        One that was cut short is not repeated, to spare the clients the same harm once more.
        """
        if len(measurements) < self.least:
            return False
        return len(measurements) >= self.most or any(m.censored for m in measurements) or self.precise(measurements)

    def precise(self, measurements: Sequence[Measurement]) -> bool:
        """Whether the mean is known as well as is asked for; by a window that was cut short it never is."""
        if self.half_width is None:
            return True
        if any(m.censored for m in measurements):
            return False
        return relative_half_width([m[self.quantity] for m in measurements]) <= self.half_width

    def describe(self) -> dict[str, object]:
        """The same as JSON-ready data."""
        return asdict(self)


def relative_half_width(values: Sequence[float]) -> float:
    """Half of the width of the confidence interval of a mean, as a share of the mean; infinite below two values.

    Student's t: the values are taken to be independent and about normal.
    """
    from scipy.special import stdtrit

    count = len(values)
    if count < 2:
        return math.inf
    mean, deviation = fmean(values), stdev(values)
    if deviation == 0.0:
        return 0.0
    quantile = float(stdtrit(count - 1, 0.5 + CONFIDENCE / 2))
    return quantile * deviation / math.sqrt(count) / abs(mean) if mean else math.inf
