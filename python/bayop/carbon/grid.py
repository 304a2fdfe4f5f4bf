"""How much carbon a kWh of the grid costs: one number, or a series by the hour that repeats."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from itertools import accumulate
from pathlib import Path
from typing import Final

from bayop.errors import InputError, unreadable
from bayop.files import read_text

_COLUMNS: Final = ("hour", "gco2_per_kwh")
_MOST: Final = 5000.0
"""Lignite gives 1200 g/kWh."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid's carbon intensity.

    Attributes:
        hourly_g_per_kwh: For every hour, g CO2e/kWh; after the last the first follows. One entry is a constant.
    """

    hourly_g_per_kwh: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.hourly_g_per_kwh:
            raise InputError(wrong="the grid has no carbon intensity for any hour")
        for value in self.hourly_g_per_kwh:
            _check(value)
        if not any(self.hourly_g_per_kwh):
            raise InputError(
                "a grid must emit something, in some hour at least", wrong="the carbon intensity is 0 in every hour"
            )

    @property
    def mean_g_per_kwh(self) -> float:
        """Over the whole series."""
        return math.fsum(self.hourly_g_per_kwh) / len(self.hourly_g_per_kwh)

    def g_per_kwh_at(self, hours: float) -> float:
        """So many hours after the series began, or before."""
        return self.hourly_g_per_kwh[math.floor(hours) % len(self.hourly_g_per_kwh)]

    def mean_g_per_kwh_until(self, hours: float) -> float:
        """Mean over the first so many hours of a load that never changes."""
        sums = [0.0, *accumulate(self.hourly_g_per_kwh)]
        rounds, rest = divmod(hours, len(self.hourly_g_per_kwh))
        whole = int(rest)
        total = rounds * sums[-1] + sums[whole]
        if rest > whole:
            total += (rest - whole) * self.hourly_g_per_kwh[whole]
        return total / hours


def read_grid(path: Path) -> Grid:
    """Reads a series from a CSV with the columns `hour` (0, 1, 2, ...) and `gco2_per_kwh`.

    Raises:
        InputError: it can't be read, a column or an hour is missing, or a value is no carbon intensity.
    """
    text = read_text(path, encoding="utf-8-sig")
    try:
        return Grid(tuple(_values(csv.DictReader(StringIO(text), strict=True), path)))
    except csv.Error as error:
        raise unreadable(path, error) from error
    except InputError as error:
        raise error.at(str(path)) from error


def _check(value: float) -> None:
    if not 0.0 <= value <= _MOST:
        raise InputError(f"a grid's carbon intensity must lie between 0 and {_MOST:g} g CO2e/kWh", value=value)


def _values(reader: csv.DictReader[str], path: Path) -> Iterator[float]:
    missing = [name for name in _COLUMNS if name not in (reader.fieldnames or ())]
    if missing:
        raise InputError(
            f"a series must have the columns {', '.join(_COLUMNS)}",
            wrong=f"there is no column {missing[0]}",
            value=f"no {missing[0]}",
            place=f"{path}:1",
        )
    for hour, row in enumerate(reader):
        place = f"{path}:{reader.line_num}"
        if row["hour"] != str(hour):
            raise InputError(
                f"hours must follow each other from 0; this must be hour {hour}", value=row["hour"], place=place
            )
        try:
            value = float(row["gco2_per_kwh"])
        except (TypeError, ValueError):
            cell = row["gco2_per_kwh"] or ""
            raise InputError("a carbon intensity must be a number", value=cell, place=place) from None
        try:
            _check(value)
        except InputError as error:
            raise error.at(place) from error
        yield value
