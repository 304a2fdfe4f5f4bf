"""How long settings were held, and what their switchbacks took: what a saving is computed from."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bayop.state.records import opened
from bayop.switchback import Switchback

QUARTER_S: Final = 900.0
"""The time held is summed by quarters of an hour: no tariff and no grid changes faster."""

Query = Callable[..., list[Any]]
"""Answers SQL, with its values, by rows."""


@dataclass(frozen=True, slots=True)
class Quarter:
    """A quarter of an hour.

    Attributes:
        start_s: When it began, in s since 1970.
        held_s: For how long a setting was held in the windows that began in it.
        switchback_s: For how long the default was in effect in switchbacks.
    """

    start_s: float
    held_s: float
    switchback_s: float


@dataclass(frozen=True, slots=True)
class HeldTime:
    """The time of a service.

    Attributes:
        quarters: Those in which a setting was held, in order.
        switchbacks: When each began, and what its windows took, in W; in order.
    """

    quarters: tuple[Quarter, ...]
    switchbacks: tuple[tuple[float, Switchback], ...]

    def between(self, since_s: float, until_s: float) -> HeldTime:
        """What began between two times."""
        return HeldTime(
            tuple(quarter for quarter in self.quarters if since_s <= quarter.start_s < until_s),
            tuple(each for each in self.switchbacks if since_s <= each[0] < until_s),
        )


def held_time(query: Query, service: str, since_s: float, until_s: float) -> HeldTime:
    """What began between two times."""
    windows = """
        SELECT CAST(start_s / ?4 AS INTEGER) AS quarter, total(duration_s) FILTER (WHERE phase = 'hold'),
          total(duration_s) FILTER (WHERE phase = 'switchback') FROM window
        WHERE service = ?1 AND start_s >= ?2 AND start_s < ?3 AND phase IN ('hold', 'switchback')
        GROUP BY quarter ORDER BY quarter
    """
    switchbacks = """
        SELECT start_s, before_w, default_w, after_w, pause_s FROM switchback
        WHERE service = ?1 AND start_s >= ?2 AND start_s < ?3 ORDER BY id
    """
    return HeldTime(
        tuple(Quarter(n * QUARTER_S, *times) for n, *times in query(windows, service, since_s, until_s, QUARTER_S)),
        tuple((start_s, Switchback(*took)) for start_s, *took in query(switchbacks, service, since_s, until_s)),
    )


def read_held_times(path: Path, service: str | None = None) -> dict[str, HeldTime]:
    """All the time that services have held settings, by their names; also while `bayop run` writes it.

    Args:
        path: The state.
        service: Whose time; None for all services.

    Raises:
        InputError: the file can't be read, or is no state.
    """
    with opened(path) as database:

        def query(sql: str, *values: object) -> list[Any]:
            return [tuple(row) for row in database.execute(sql, values)]

        names = [name for (name,) in query("SELECT DISTINCT service FROM window ORDER BY service")]
        times = {name: held_time(query, name, 0.0, math.inf) for name in names if service in (None, name)}
    return {name: time for name, time in times.items() if time.quarters}
