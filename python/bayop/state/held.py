"""How long settings were held, and what their switchbacks took: what a saving is computed from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from bayop.state.damage import DAMAGED_WINDOWS, SOUND_WINDOW, Summed, SwitchbackRow, raise_damage, sound
from bayop.state.records import opened
from bayop.switchback import Switchback

QUARTER_S: Final = 900.0
"""The time held is summed by quarters of an hour: no tariff and no grid changes faster."""

Query = Callable[..., list[Any]]
"""Answers SQL, with its values, by rows."""

T = TypeVar("T")


class Sound(Protocol):
    """Answers SQL, with its values, by those of its rows that are not damaged."""

    def __call__(self, kind: type[T], sql: str, *values: object) -> Iterator[T]:
        """Rows as what they should be."""
        ...


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


def switchback(row: SwitchbackRow) -> Switchback:
    """What a row of the state stands for."""
    return Switchback(row["before_w"], row["default_w"], row["after_w"], row["pause_s"])


def held_time(query: Query, read: Sound, service: str, since_s: float, until_s: float) -> HeldTime:
    """What began between two times, less the rows that are damaged."""
    windows = f"""
        SELECT CAST(start_s / ?4 AS INTEGER) AS quarter, total(duration_s) FILTER (WHERE phase = 'hold'),
          total(duration_s) FILTER (WHERE phase = 'switchback') FROM window
        WHERE service = ?1 AND start_s >= ?2 AND start_s < ?3 AND phase IN ('hold', 'switchback') AND {SOUND_WINDOW}
        GROUP BY quarter ORDER BY quarter
    """  # noqa: S608 -- our own words
    switchbacks = """
        SELECT 'switchback', id, start_s, before_w, default_w, after_w, pause_s FROM switchback
        WHERE service = ?1 AND start_s >= ?2 AND start_s < ?3 ORDER BY id
    """
    for _ in read(Summed, DAMAGED_WINDOWS, service, since_s, until_s):
        pass  # the sum leaves them out itself
    return HeldTime(
        tuple(Quarter(n * QUARTER_S, *times) for n, *times in query(windows, service, since_s, until_s, QUARTER_S)),
        tuple((row["start_s"], switchback(row)) for row in read(SwitchbackRow, switchbacks, service, since_s, until_s)),
    )


def read_held_times(path: Path, service: str | None = None) -> dict[str, HeldTime]:
    """All the time that services have held settings, by their names; also while `bayop run` writes it.

    Args:
        path: The state.
        service: Whose time; None for all services.

    Raises:
        InputError: the file can't be read, or is no state.
        StateError: a row is damaged.
    """
    with opened(path) as database:

        def query(sql: str, *values: object) -> list[Any]:
            return [tuple(row) for row in database.execute(sql, values)]

        def read(kind: type[T], sql: str, *values: object) -> Iterator[T]:
            return sound(query(sql, *values), kind, path, raise_damage)

        names = [name for (name,) in query("SELECT DISTINCT service FROM window ORDER BY service")]
        times = {name: held_time(query, read, name, 0.0, math.inf) for name in names if service in (None, name)}
    return {name: time for name, time in times.items() if time.quarters}
