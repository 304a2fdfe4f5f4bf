"""The load of a week, learned from the hours that were seen. Pure: hours in, the load to come out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from statistics import median
from typing import Final

from bayop.units import HOUR_S

_LEAST_WEEKS: Final = 2
_LEAST_DAYS: Final = 3
_CLOSE: Final = 0.2
_MOST_ARE: Final = 2 / 3


@dataclass(frozen=True, slots=True)
class HourLoad:
    """An hour that was seen.

    Attributes:
        start_s: When it began, in s since 1970.
        qps: Its mean load, in requests/s.
    """

    start_s: float
    qps: float


@dataclass(frozen=True, slots=True)
class Coming:
    """A load that is foretold.

    Attributes:
        qps: In requests/s.
        until_s: When the hour that it is foretold for ends.
    """

    qps: float
    until_s: float


class Week:
    """What each hour of a week is foretold to bring: the median of such hours, where these agree.

    They agree when two of three lie within 20 % of their median, so that one holiday changes nothing. An hour of the
    week is foretold from two weeks on; before that, an hour of the day from three days on, which a weekend keeps from
    agreeing where it is another load.

    Args:
        hours: What was seen, in any order.
        zone: The time zone whose week counts.
    """

    def __init__(self, hours: Iterable[HourLoad], zone: tzinfo = UTC) -> None:
        self._zone = zone
        self._of_week: dict[tuple[int, int], list[float]] = defaultdict(list)
        self._of_day: dict[int, list[float]] = defaultdict(list)
        for hour in hours:
            weekday, of_day = self._place(hour.start_s)
            self._of_week[weekday, of_day].append(hour.qps)
            self._of_day[of_day].append(hour.qps)

    def load_at(self, time_s: float) -> float | None:
        """The load that is foretold for the hour of a time, in requests/s; None where hours were too few or too odd."""
        place = self._place(time_s)
        load = _agreed(self._of_week.get(place, ()), _LEAST_WEEKS)
        return _agreed(self._of_day.get(place[1], ()), _LEAST_DAYS) if load is None else load

    def coming(self, now_s: float, ahead_s: float) -> Coming | None:
        """The greatest load foretold for hours that begin within `ahead_s`; None where there is none."""
        begin, end = int(now_s // HOUR_S) + 1, int((now_s + ahead_s) // HOUR_S)
        starts = [HOUR_S * hour for hour in range(begin, end + 1)]
        foretold = [Coming(qps, start_s + HOUR_S) for start_s in starts if (qps := self.load_at(start_s)) is not None]
        return max(foretold, key=lambda coming: coming.qps, default=None)

    def _place(self, time_s: float) -> tuple[int, int]:
        """Day of the week and hour of the day."""
        wall = datetime.fromtimestamp(time_s, self._zone)
        return wall.weekday(), wall.hour


def _agreed(loads_qps: Sequence[float], least: int) -> float | None:
    """The median of at least so many loads, most of which are close to it."""
    if len(loads_qps) < least:
        return None
    middle = median(loads_qps)
    close = sum(abs(qps - middle) <= _CLOSE * middle for qps in loads_qps)
    return middle if close >= _MOST_ARE * len(loads_qps) else None
