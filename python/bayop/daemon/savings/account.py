"""What was saved in a time: power net of the switchbacks, energy, money and carbon, each with its interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from bayop.daemon.savings.worth import Worth
from bayop.state.held import HeldTime, Quarter
from bayop.switchback import HeldSaving, held_saving
from bayop.units import DAY_S, round_significant

_J_PER_KWH: Final = 3.6e6


@dataclass(frozen=True, slots=True)
class Saved:
    """What was saved.

    Attributes:
        start_s: When the time begins, in s since 1970.
        end_s: When it ends.
        held_s: For how long of it a setting was held.
        switchback_s: For how long the default was in effect in switchbacks.
        power_w: The mean saving of the time held, in W; None without a switchback.
        money: What a W that is saved while a setting is held is worth; None without a tariff.
        carbon_g: What it does not emit, in g CO2e; None without a grid.
        currency: Of the money.
    """

    start_s: float
    end_s: float
    held_s: float
    switchback_s: float
    power_w: HeldSaving | None
    money: float | None
    carbon_g: float | None
    currency: str | None

    def event(self) -> dict[str, object]:
        """As programs read it: power over the time held and that of the switchbacks, which save nothing."""
        whole_s, saving = self.held_s + self.switchback_s, self.power_w
        share = self.held_s / whole_s if whole_s > 0.0 else 0.0
        return {
            "held_s": round(self.held_s, 3),
            "switchback_s": round(self.switchback_s, 3),
            "switchbacks": 0 if saving is None else saving.switchbacks,
            "default_w": None if saving is None else round_significant(saving.reference),
            "power_w": None if saving is None else _interval(saving.net(share), 1.0),
            "energy_kwh": _interval(saving, self.held_s / _J_PER_KWH),
            "cost": _interval(saving, self.money),
            "currency": self.currency,
            "carbon_g": _interval(saving, self.carbon_g),
        }


def saved(time: HeldTime, worth: Worth, start_s: float, end_s: float) -> Saved:
    """What was saved in a part of the time of a service.

    Args:
        time: What the state has of it.
        worth: What a kWh is worth.
        start_s: When the part begins, in s since 1970.
        end_s: When it ends.
    """
    part = time.between(start_s, end_s)
    switchbacks = [each for _, each in part.switchbacks]
    return Saved(
        start_s=start_s,
        end_s=end_s,
        held_s=math.fsum(quarter.held_s for quarter in part.quarters),
        switchback_s=math.fsum(quarter.switchback_s for quarter in part.quarters),
        power_w=held_saving(switchbacks) if switchbacks else None,
        money=_of_a_watt(part.quarters, worth.price_at),
        carbon_g=_of_a_watt(part.quarters, worth.carbon_g_at),
        currency=None if worth.tariff is None else worth.tariff.currency,
    )


def days(time: HeldTime) -> Iterator[tuple[float, float]]:
    """Begin and end of each day (UTC) in which a setting was held, in order."""
    for day in sorted({math.floor(quarter.start_s / DAY_S) for quarter in time.quarters}):
        yield day * DAY_S, (day + 1) * DAY_S


def _of_a_watt(quarters: tuple[Quarter, ...], per_kwh_at: Callable[[float], float | None]) -> float | None:
    """What one W, saved for all of the time held, is worth; None where nobody says what a kWh is."""
    if per_kwh_at(0.0) is None:
        return None
    return math.fsum(quarter.held_s / _J_PER_KWH * (per_kwh_at(quarter.start_s) or 0.0) for quarter in quarters)


def _interval(saving: HeldSaving | None, factor: float | None) -> dict[str, float | None] | None:
    """A saving times a factor; an end that nobody knows yet is null."""
    if saving is None or factor is None:
        return None
    ends = {"value": saving.value, "low": saving.low, "high": saving.high}
    return {name: round_significant(factor * end) if math.isfinite(end) else None for name, end in ends.items()}
