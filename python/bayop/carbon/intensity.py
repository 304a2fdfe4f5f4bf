"""The computational carbon intensity of [C]: (embodied + operational + network carbon) / operations of a lifetime.

The terms are those of the paper ("Can OS Specialization give new life to old carbon in the cloud?", SYSTOR 2024);
the units are kept by `bayop.carbon.units`. Per request, at a constant load:

    embodied      charged carbon / (throughput x lifetime)
    operational   grid x power / throughput
    network       grid x bytes/s x energy per byte / throughput
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bayop.carbon.grid import Grid
from bayop.carbon.stack import Stack
from bayop.carbon.units import INTENSITY, Amount, quantity

DAYS_PER_YEAR: Final = 365.0
MONTHS_PER_YEAR: Final = 12.0


@dataclass(frozen=True, slots=True)
class Intensity:
    """Carbon of one request, mg CO2e, by where it comes from."""

    embodied_mg: float
    operational_mg: float
    network_mg: float

    @property
    def total_mg(self) -> float:
        """The computational carbon intensity."""
        return self.embodied_mg + self.operational_mg + self.network_mg

    @property
    def without_network_mg(self) -> float:
        """What the server alone is answerable for."""
        return self.embodied_mg + self.operational_mg


def intensity(stack: Stack, grid: Grid, lifetime_years: float) -> Intensity:
    """The carbon intensity over a whole lifetime."""
    return _intensity(stack, grid.mean, lifetime_years)


def intensity_by_month(stack: Stack, grid: Grid, months: Sequence[int]) -> list[Intensity]:
    """The carbon intensity of all work until the end of each month (1 is the first): making is paid off as it works."""
    hours_per_month = DAYS_PER_YEAR * 24.0 / MONTHS_PER_YEAR
    return [_intensity(stack, grid.mean_until(month * hours_per_month), month / MONTHS_PER_YEAR) for month in months]


def _intensity(stack: Stack, grid: Amount, years: float) -> Intensity:
    requests = stack.throughput * quantity(years * DAYS_PER_YEAR, "day")
    return Intensity(
        embodied_mg=_magnitude(stack.charged / requests),
        operational_mg=_magnitude(grid * stack.power / stack.throughput),
        network_mg=_magnitude(grid * stack.network_power / stack.throughput),
    )


def _magnitude(carbon: Amount) -> float:
    return float(carbon.to(INTENSITY).magnitude)
