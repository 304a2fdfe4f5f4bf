"""What a kWh is worth at a time: by a tariff, and by the carbon intensity of a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bayop.carbon.grid import Grid
from bayop.control.quiet import Quiet
from bayop.units import DAY_S, HOUR_S

_MONDAY_S: Final = 4 * DAY_S
"""The first Monday of 1970: an hour 0 with which 24 values are the hours of a day, and 168 those of a week, in UTC."""


@dataclass(frozen=True, slots=True)
class Tariff:
    """What a kWh costs.

    Attributes:
        currency: In which it is paid, such as `EUR`.
        price: At all other times.
        prices: At some hours; where several lie over each other, the first counts.
    """

    currency: str
    price: float
    prices: tuple[tuple[Quiet, float], ...] = ()

    def at(self, time_s: float) -> float:
        """The price at a time, in s since 1970."""
        return next((price for hours, price in self.prices if hours.until_s(time_s) is not None), self.price)


@dataclass(frozen=True, slots=True)
class Worth:
    """What a kWh is worth, as far as the file says.

    Attributes:
        tariff: What it costs; None where nobody says.
        grid: The carbon intensity of the grid, whose hour 0 begins on a Monday at 00:00 UTC; None where nobody says.
    """

    tariff: Tariff | None = None
    grid: Grid | None = None

    def price_at(self, time_s: float) -> float | None:
        """What a kWh costs at a time."""
        return None if self.tariff is None else self.tariff.at(time_s)

    def carbon_g_at(self, time_s: float) -> float | None:
        """What a kWh emits at a time, in g CO2e."""
        return None if self.grid is None else self.grid.g_per_kwh_at((time_s - _MONDAY_S) / HOUR_S)
