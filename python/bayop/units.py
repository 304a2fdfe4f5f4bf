"""Quantities that people type (`50us`, `2.1GHz`, `120W`) and the numbers that programs exchange.

Programs carry the unit in the name of the field (`rx_usecs`, `freq_mhz`, `power_w`), so a number crosses every
interface in exactly one unit. Only people write units, and only this module reads them.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from functools import cache
from numbers import Real
from typing import Final, overload

from bayop.errors import InputError

HOUR_S: Final = 3600.0
DAY_S: Final = 24.0 * HOUR_S
HOURS_PER_YEAR: Final = 24 * 365.25

# For each unit: its dimension and its size in the dimension's base unit (s, Hz, W, J, requests/s, B, 1). A KB is
# 1024 B, as NetPIPE has it.
_UNITS: Final[dict[str, tuple[str, float]]] = {
    "ns": ("time", 1e-9),
    "us": ("time", 1e-6),
    "µs": ("time", 1e-6),
    "ms": ("time", 1e-3),
    "s": ("time", 1.0),
    "min": ("time", 60.0),
    "h": ("time", 3600.0),
    "Hz": ("frequency", 1.0),
    "kHz": ("frequency", 1e3),
    "MHz": ("frequency", 1e6),
    "GHz": ("frequency", 1e9),
    "mW": ("power", 1e-3),
    "W": ("power", 1.0),
    "kW": ("power", 1e3),
    "mJ": ("energy", 1e-3),
    "J": ("energy", 1.0),
    "kJ": ("energy", 1e3),
    "Wh": ("energy", 3600.0),
    "kWh": ("energy", 3.6e6),
    "qps": ("rate", 1.0),
    "kqps": ("rate", 1e3),
    "Mqps": ("rate", 1e6),
    "B": ("size", 1.0),
    "KB": ("size", 1024.0),
    "KiB": ("size", 1024.0),
    "MiB": ("size", 1048576.0),
    "%": ("ratio", 1e-2),
}

# How people write a load: 600kqps, 600Krps, 600k/s, or just 600k.
_RATE = re.compile(r"(?P<multiple>[kKM]?)(?i:qps|rps|/s)?")

# The units of time that a number is brought to for people, in steps of a thousand.
_TIMES: Final = ("ns", "us", "ms", "s")

# How the unit is spelled at the end of a field's name, and the unit that it means.
_NAME_SUFFIXES: Final[dict[str, str]] = {
    "usecs": "us",
    "us": "us",
    "ms": "ms",
    "s": "s",
    "mhz": "MHz",
    "w": "W",
    "j": "J",
    "qps": "qps",
}

_QUANTITY = re.compile(r"\s*(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(?P<unit>[A-Za-zµ%/]*)\s*")


def unit_of(name: str) -> str | None:
    """The unit that a field's name carries, or None: `nic.rx_usecs` -> `us`, `cpu.freq_mhz` -> `MHz`."""
    return _NAME_SUFFIXES.get(name.rsplit("_", 1)[-1].rsplit(".", 1)[-1])


@overload
def round_significant(value: float, digits: int = 6) -> float: ...
@overload
def round_significant(value: float | None, digits: int = 6) -> float | None: ...
def round_significant(value: float | None, digits: int = 6) -> float | None:
    """A measured number without the digits that mean nothing; None stays what nothing has measured."""
    return None if value is None else float(f"{value:.{digits}g}")


def format_qps(qps: float, digits: int = 6) -> str:
    """A load as people say it: `500`, `20K`, `1.5M`."""
    rounded = round_significant(qps, digits)
    for multiple, letter in ((1e6, "M"), (1e3, "K")):
        if rounded >= multiple:
            return f"{rounded / multiple:.{digits}g}{letter}"
    return f"{rounded:.{digits}g}"


def convert(value: float, unit: str, to: str) -> float:
    """`value` in `unit` expressed in the unit `to`.

    Raises:
        InputError: a unit is unknown, or the two measure different things.
    """
    to_dimension, _ = _lookup(to)
    dimension, _ = _lookup(unit, hint=_spellings(to_dimension))
    if dimension != to_dimension:
        raise InputError(f"it must be a {to_dimension}", value=f"{value:g}{unit}", hint=f"write it in {to}")
    ratio = _ratio(unit, to)
    return value * ratio.numerator / ratio.denominator


def parse_quantity(text: str, to: str, *, unit_required: bool = False) -> float:
    """Reads a number with an optional unit and returns it in the unit `to`.

    Args:
        text: What a person typed: `50us`, `0.5 ms`, `2.1GHz`; a load is `600kqps`, `600krps`, `600k/s` or `600k`.
        to: The unit of the result; a bare number is taken to be in it already.
        unit_required: Refuse a bare number, where guessing the unit would be dangerous.

    Raises:
        InputError: not a finite number, an unknown unit, a unit of another dimension, or a missing one.
    """
    # Keyboards have two letters for micro; the table has one.
    match = _QUANTITY.fullmatch(text.replace("\N{GREEK SMALL LETTER MU}", "\N{MICRO SIGN}"))
    if match is None:
        raise InputError(f"a quantity must be a number and a unit such as 50{to}", value=text)
    number, unit = float(match["number"]), match["unit"]
    if to == "qps" and unit and (rate := _RATE.fullmatch(unit)):
        unit = rate["multiple"].replace("K", "k") + "qps"
    value = convert(number, unit, to) if unit else number
    if not math.isfinite(value):
        raise InputError("a quantity must be finite", value=text)
    if unit_required and not unit:
        raise InputError(
            "a quantity must have a unit", value=text, hint=f"write it out, for example {match['number']}{to}"
        )
    return value


def positive(value: object, unit: str, rule: str) -> float:
    """A number that a program gives where a positive one in a unit is needed.

    Raises:
        InputError: it is none, by that rule; of a text that a person would type, the hint is the number.
    """
    if isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):
            if math.isfinite(number := float(value)) and number > 0.0:
                return number
    hint = None
    if isinstance(value, str):
        with suppress(InputError):
            if (meant := parse_quantity(value, unit)) > 0.0:
                hint = f"in a program, write {meant:_.10g}"
    raise InputError(rule, value=value, hint=hint)


def dimension_of(unit: str) -> str:
    """What a unit measures: `time`, `frequency`, `power`, `energy`, `rate`, `size` or `ratio`.

    Raises:
        InputError: the unit is unknown.
    """
    return _lookup(unit)[0]


def base_value(value: float, unit: str) -> float:
    """`value` in `unit`, expressed in the base unit of its dimension (s, Hz, W, J, requests/s, B, 1)."""
    return value * _lookup(unit)[1]


def format_quantity(value: float, unit: str, digits: int = 10) -> str:
    """`value` with its unit for people, who can type it back: `500us`, `1.5ms`, `3s`, `2100MHz`, `0.000001W`.

    A time comes in the unit in which it is shortest, and in its own where that is as short. Numbers have neither
    trailing zeros nor an exponent, and at most `digits` significant digits.
    """
    units = (unit, *_TIMES) if unit in _TIMES else (unit,)
    numbers = {to: _decimal(value if to == unit else convert(value, unit, to), digits) for to in units}
    shortest = min(numbers, key=lambda to: len(numbers[to]))
    return numbers[shortest] + shortest


def format_in_column(value: float, unit: str, digits: int = 3) -> str:
    """`value` in its own unit, beside others in that unit: `1630us` under `1100us`, which reads wrong under `1.1ms`."""
    return _decimal(value, digits) + unit


def _decimal(value: float, digits: int) -> str:
    return f"{Decimal(repr(float(f'{value:.{digits}g}'))):f}".removesuffix(".0")


def _lookup(unit: str, *, hint: str | None = None) -> tuple[str, float]:
    entry = _UNITS.get(unit)
    if entry is None:
        raise InputError(
            wrong=f"there is no unit {unit!r}", value=unit, hint=hint or "known units: " + ", ".join(_UNITS)
        )
    return entry


@cache
def _ratio(unit: str, to: str) -> Fraction:
    """Exact ratios keep round values exact: 1 ms is 1000 us, and not 1000.0000000000001."""
    return Fraction(repr(_UNITS[unit][1])) / Fraction(repr(_UNITS[to][1]))


def _spellings(dimension: str) -> str:
    units = [unit for unit, (measured, _) in _UNITS.items() if measured == dimension]
    return f"known units of {dimension}: " + ", ".join(units)
