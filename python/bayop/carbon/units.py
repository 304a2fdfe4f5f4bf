"""The units of carbon accounting, checked by pint: greenhouse gas is a dimension of its own, and so are requests.

A mass of CO2 that is added to a rate of CO2, or joules per byte taken for microjoules, then stop a computation
instead of ending up in a figure.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from pint import Quantity, UnitRegistry

Amount: TypeAlias = "Quantity[float]"
"""A number with its unit."""
INTENSITY: Final = "mgCO2e/request"
"""The unit of a computational carbon intensity."""
GRID: Final = "gCO2e/kWh"
"""The unit of a grid's carbon intensity."""


@cache
def registry() -> UnitRegistry[float]:
    """The registry of every quantity here; it is made when the first one is."""
    import pint

    units: UnitRegistry[float] = pint.UnitRegistry(non_int_type=float)
    units.define("gCO2e = [greenhouse_gas]")
    units.define("request = [request]")
    return units


def quantity(value: float, unit: str) -> Amount:
    """`value` in `unit`, such as `kgCO2e`, `request/s`, `J/byte`."""
    found: Amount = registry().Quantity(value, unit)
    return found
