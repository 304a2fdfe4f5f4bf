"""Quiet hours: times of a week, and of dates, in which nothing is tried. Times are a clock's on a wall of some zone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final, Protocol
from zoneinfo import ZoneInfo

from bayop.errors import InputError
from bayop.units import DAY_S

_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_WEEKLY: Final = re.compile(r"(?:(?P<days>[A-Za-z,-]+) )?(?P<start>\d\d:\d\d)-(?P<end>\d\d:\d\d)", re.ASCII)
_DATED: Final = re.compile(r"(?P<start>\d{4}-\d\d-\d\d \d\d:\d\d)/(?P<end>\d{4}-\d\d-\d\d \d\d:\d\d)", re.ASCII)
_HINT: Final = 'such as "Mon-Fri 08:00-10:00", "22:00-06:00" or "2026-12-24 00:00/2026-12-27 00:00"'
_AHEAD_S: Final = 8 * DAY_S


class Hours(Protocol):
    """Some hours of a clock on a wall."""

    def near(self, day: date) -> Iterator[tuple[datetime, datetime]]:
        """Begin and end, without a zone, of those that may be under way on a day."""
        ...


@dataclass(frozen=True, slots=True)
class Weekly:
    """Hours of some days of each week.

    Attributes:
        days: On which they begin; Monday is 0.
        start_min: When, in minutes since midnight.
        end_min: When they end; no later than they begin: on the next day.
    """

    days: frozenset[int]
    start_min: int
    end_min: int

    def near(self, day: date) -> Iterator[tuple[datetime, datetime]]:
        """Those that begin the day before, on the day, or the day after."""
        for begins in (day + timedelta(days=n) for n in (-1, 0, 1)):
            if begins.weekday() in self.days:
                midnight = datetime(begins.year, begins.month, begins.day)
                end_min = self.end_min + (1440 if self.end_min <= self.start_min else 0)
                yield midnight + timedelta(minutes=self.start_min), midnight + timedelta(minutes=end_min)


@dataclass(frozen=True, slots=True)
class Dated:
    """Hours that come once.

    Attributes:
        start: When they begin.
        end: When they end.
    """

    start: datetime
    end: datetime

    def near(self, day: date) -> Iterator[tuple[datetime, datetime]]:
        """Themselves."""
        del day
        yield self.start, self.end


@dataclass(frozen=True, slots=True)
class Quiet:
    """All quiet hours of a service.

    Where the clock on the wall is put forward or back, an hour that is there twice is quiet both times, and one that is
    not there makes those that begin or end in it no shorter.

    Attributes:
        hours: The hours.
        zone: The wall's time zone.
    """

    hours: tuple[Hours, ...] = ()
    zone: tzinfo = UTC

    @classmethod
    def parse(cls, texts: Sequence[str], zone: tzinfo = UTC) -> Quiet:
        """Reads `Mon-Fri 08:00-10:00`, `Sat,Sun 22:00-06:00`, `22:00-24:00`, `2026-12-24 00:00/2026-12-27 00:00`.

        Raises:
            InputError: one of them is none of that, or begins or ends beyond the calendar of UTC.
        """
        return cls(tuple(_hours(text, zone) for text in texts), zone)

    def until_s(self, now_s: float) -> float | None:
        """When the quiet hours of a time end, in s since 1970; None outside of such. Looks a week ahead at most."""
        ends_s = now_s
        while ends_s < now_s + _AHEAD_S:
            over_s = max((e for s, e in self._around(ends_s) if s <= ends_s < e), default=None)
            if over_s is None:
                break
            ends_s = over_s
        return ends_s if ends_s > now_s else None

    def _around(self, now_s: float) -> Iterator[tuple[float, float]]:
        if not self.hours:
            return
        today = datetime.fromtimestamp(now_s, self.zone).date()
        for hours in self.hours:
            for start, end in hours.near(today):
                yield min(self._instants(start)), max(self._instants(end))

    def _instants(self, wall: datetime) -> tuple[float, float]:
        """The times at which a wall's clock may be said to show something: two where it was put forward or back."""
        first, second = (wall.replace(tzinfo=self.zone, fold=fold).timestamp() for fold in (0, 1))
        return first, second


def parse_zone(name: str) -> tzinfo:
    """A time zone by its name in the IANA database, such as `Europe/Berlin`; `UTC` is always known.

    Raises:
        InputError: this machine knows none of that name.
    """
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        hint = 'such as "UTC" or "Europe/Berlin"; Debian has them in the package tzdata'
        raise InputError(wrong=f"there is no time zone {name!r}", value=name, hint=hint) from error


def _hours(text: str, zone: tzinfo) -> Hours:
    if match := _WEEKLY.fullmatch(text):
        start_min, end_min = _minutes(match["start"], text), _minutes(match["end"], text)
        if start_min in (end_min, 1440):
            raise InputError("hours must end at another time than they begin", value=text, hint="00:00-24:00")
        return Weekly(_days(match["days"], text), start_min, end_min)
    if match := _DATED.fullmatch(text):
        start, end = (_moment(match[end], text, zone) for end in ("start", "end"))
        if start >= end:
            raise InputError("hours must end after they begin", value=text, hint=_HINT)
        return Dated(start, end)
    raise InputError("hours must be days and times, or two dates with times", value=text, hint=_HINT)


def _days(names: str | None, text: str) -> frozenset[int]:
    if names is None:
        return frozenset(range(7))
    days: set[int] = set()
    for part in names.split(","):
        first, _, last = part.partition("-")
        if not {first, last or first} <= set(_DAYS):
            raise InputError(f"days must be some of {', '.join(_DAYS)}", value=text, hint=_HINT)
        begin, end = _DAYS.index(first), _DAYS.index(last or first)
        days |= {day % 7 for day in range(begin, end + 1 + 7 * (end < begin))}
    return frozenset(days)


def _minutes(clock: str, text: str) -> int:
    hours, minutes = int(clock[:2]), int(clock[3:])
    if minutes > 59 or 60 * hours + minutes > 1440:
        raise InputError("a time of the day must lie between 00:00 and 24:00", value=text, hint=_HINT)
    return 60 * hours + minutes


def _moment(moment: str, text: str, zone: tzinfo) -> datetime:
    try:
        wall = datetime.strptime(moment, "%Y-%m-%d %H:%M")
        wall.replace(tzinfo=zone).astimezone(UTC)  # in which its end is told: some hours may lie beyond the year 9999
        return wall
    except (ValueError, OverflowError) as error:
        raise InputError("a date must be one of the calendar, in UTC too", value=text, hint=_HINT) from error
