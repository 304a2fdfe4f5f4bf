"""The computational carbon intensity of [C]: (embodied + operational + network carbon) / operations of a lifetime.

The terms are those of the paper ("Can OS Specialization give new life to old carbon in the cloud?", SYSTOR 2024).
Per request, at a constant load:

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

PUBLISHED_DAYS_PER_YEAR: Final = 365.0
"""As in systor_cci.csv, whose columns over three and five years follow to all their digits with it, and with a quarter
of a day more (`units.HOURS_PER_YEAR`) don't."""
MONTHS_PER_YEAR: Final = 12.0
PER_MILLION: Final = 1e6
"""Requests that carbon is shown for; that of one would be some ug."""
_DAYS_PER_S: Final = 1.0 / 86400.0
_MG_PER_KG: Final = 1e6
_MG_PER_J: Final = 1e3 / 3.6e6
"""Of a grid with 1 g/kWh."""


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
    return _intensity(stack, grid.mean_g_per_kwh, lifetime_years)


def intensity_by_month(stack: Stack, grid: Grid, months: Sequence[int]) -> list[Intensity]:
    """The carbon intensity of all work until the end of each month (1 is the first): making is paid off as it works."""
    hours_per_month = PUBLISHED_DAYS_PER_YEAR * 24.0 / MONTHS_PER_YEAR
    lives = [(month * hours_per_month, month / MONTHS_PER_YEAR) for month in months]
    return [_intensity(stack, grid.mean_g_per_kwh_until(hours), years) for hours, years in lives]


def _intensity(stack: Stack, grid_g_per_kwh: float, years: float) -> Intensity:
    request_days_per_s = stack.qps * (years * PUBLISHED_DAYS_PER_YEAR)
    return Intensity(
        embodied_mg=stack.charged_kg / request_days_per_s * (_DAYS_PER_S * _MG_PER_KG),
        operational_mg=grid_g_per_kwh * stack.power_w / stack.qps * _MG_PER_J,
        network_mg=grid_g_per_kwh * stack.network_w / stack.qps * _MG_PER_J,
    )
