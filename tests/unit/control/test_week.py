from __future__ import annotations

from collections.abc import Callable
from zoneinfo import ZoneInfo

import pytest

from bayop.control.week import Coming, HourLoad, Week

HOUR_S, DAY_S = 3600.0, 86_400.0
MONDAY_S = 4 * DAY_S
"""1970-01-05, a Monday."""


def seen(days: int, load: Callable[[int, int], float], *, since_s: float = MONDAY_S) -> list[HourLoad]:
    """Whole days, where `load` knows the day (from 0) and the hour of the day."""
    return [HourLoad(since_s + DAY_S * d + HOUR_S * h, load(d, h)) for d in range(days) for h in range(24)]


def office(day: int, hour: int) -> float:
    return 9000.0 if 9 <= hour < 17 and day % 7 < 5 else 3000.0


def test_an_hour_of_the_day_is_foretold_from_three_days_on() -> None:
    assert Week(seen(2, office)).load_at(MONDAY_S + 2 * DAY_S + 9 * HOUR_S) is None
    week = Week(seen(3, office))
    assert week.load_at(MONDAY_S + 3 * DAY_S + 9.5 * HOUR_S) == 9000
    assert week.load_at(MONDAY_S + 3 * DAY_S + 8.9 * HOUR_S) == 3000


def test_an_hour_of_the_week_is_foretold_from_two_weeks_on() -> None:
    saturday_s = MONDAY_S + 5 * DAY_S + 10 * HOUR_S
    assert Week(seen(5, office)).load_at(saturday_s) == 9000, "what no weekend has taught is the hour of the day's"
    assert Week(seen(14, office)).load_at(saturday_s + 14 * DAY_S) == 3000
    assert Week(seen(14, office)).load_at(MONDAY_S + 14 * DAY_S + 10 * HOUR_S) == 9000


def test_one_holiday_changes_nothing_and_an_erratic_hour_is_not_foretold() -> None:
    holiday = Week(seen(28, lambda day, hour: 3000.0 if day == 7 else office(day, hour)))
    assert holiday.load_at(MONDAY_S + 28 * DAY_S + 10 * HOUR_S) == 9000
    erratic = Week(seen(28, lambda day, hour: 1000.0 * (1 + (day * 5 + hour) % 9)))
    assert erratic.load_at(MONDAY_S + 28 * DAY_S + 10 * HOUR_S) is None


def test_what_comes_is_the_greatest_load_of_the_hours_that_begin_soon() -> None:
    week = Week(seen(14, office))
    nine_s = MONDAY_S + 14 * DAY_S + 9 * HOUR_S
    assert week.coming(nine_s - 301, 300) is None
    assert week.coming(nine_s - 300, 300) == Coming(9000, nine_s + HOUR_S)
    assert week.coming(nine_s, 300) is None, "it is there"
    assert week.coming(nine_s - 3 * HOUR_S, 4 * HOUR_S) == Coming(9000, nine_s + HOUR_S)


def test_the_week_is_that_of_the_zone() -> None:
    """When summer time begins (1996-03-31 in Berlin), offices open an hour earlier in UTC."""
    berlin = ZoneInfo("Europe/Berlin")
    monday_s = 826_498_800.0 - HOUR_S * 0
    winter = [HourLoad(h.start_s - HOUR_S, h.qps) for h in seen(14, office, since_s=monday_s)]
    week = Week(winter, berlin)
    opening = [hour for hour in range(24) if week.load_at(monday_s + 21 * DAY_S + HOUR_S * hour) == 9000]
    assert len(opening) == 8


@pytest.mark.parametrize("hours", [[], [HourLoad(MONDAY_S, 5.0)]])
def test_of_nothing_nothing_is_foretold(hours: list[HourLoad]) -> None:
    assert Week(hours).load_at(MONDAY_S) is None
