"""Quiet hours: what is read, and that a clock on the wall shows them exactly when nothing is tried."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bayop.control.quiet import Quiet, parse_zone
from bayop.errors import InputError

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
BERLIN = ZoneInfo("Europe/Berlin")
ZONES = [UTC, BERLIN, ZoneInfo("America/St_Johns"), ZoneInfo("Australia/Lord_Howe"), ZoneInfo("Pacific/Apia")]
SINCE, UNTIL = (datetime(year, 1, 1, tzinfo=UTC) for year in (2011, 2037))


def at(text: str, zone: object = UTC, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).timestamp()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "now", "until"),
    [
        ("Mon-Fri 08:00-10:00", "2026-11-23 08:00", "2026-11-23 10:00"),
        ("Mon-Fri 08:00-10:00", "2026-11-23 07:59", None),
        ("Mon-Fri 08:00-10:00", "2026-11-23 10:00", None),
        ("Mon-Fri 08:00-10:00", "2026-11-22 09:00", None),
        ("Fri-Mon 08:00-10:00", "2026-11-22 09:00", "2026-11-22 10:00"),
        ("Sat,Sun 22:00-06:00", "2026-11-23 05:00", "2026-11-23 06:00"),
        ("Sat,Sun 22:00-06:00", "2026-11-23 23:00", None),
        ("22:00-06:00", "2026-11-25 23:30", "2026-11-26 06:00"),
        ("Sun 00:00-24:00", "2026-11-22 23:59", "2026-11-23 00:00"),
        ("2026-12-24 00:00/2026-12-27 00:00", "2026-12-25 12:00", "2026-12-27 00:00"),
        ("2026-12-24 00:00/2026-12-27 00:00", "2026-12-27 00:00", None),
    ],
)
def test_what_people_write(text: str, now: str, until: str | None) -> None:
    assert Quiet.parse([text]).until_s(at(now)) == (until and at(until))


def test_hours_that_touch_are_one() -> None:
    quiet = Quiet.parse(["Fri 18:00-24:00", "Sat,Sun 00:00-24:00", "Mon 00:00-07:00"])
    assert quiet.until_s(at("2026-11-20 19:00")) == at("2026-11-23 07:00")
    always = Quiet.parse(["00:00-24:00"])
    assert (always.until_s(at("2026-11-20 19:00")) or 0) > at("2026-11-27 19:00")
    assert Quiet().until_s(0.0) is None


@pytest.mark.parametrize(
    "text",
    ["", "soon", "Mon 8:00-10:00", "Mon-Fr 08:00-10:00", "mon 08:00-10:00", "Mon,,Tue 08:00-10:00", "08:00-08:00",
     "08:60-09:00", "23:00-24:01", "24:00-01:00", "2026-02-30 00:00/2026-03-01 00:00",
     "2026-12-27 00:00/2026-12-24 00:00", "Mon 08:00-10:00 ", "٠٨:٠٠-١٠:٠٠"],
)  # fmt: skip
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="must"):
        Quiet.parse([text])


@given(st.text(alphabet="MonTueWdThFriSaS0123456789:-,/ "))
@example("0000-00-00 00:00/9999-99-99 99:99")
@example("0001-01-01 00:00/9999-12-31 23:59")
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        quiet = Quiet.parse([text], BERLIN)
    except InputError:
        return
    quiet.until_s(0.0)


def test_zones_have_names() -> None:
    assert parse_zone("UTC") is UTC
    assert parse_zone("Europe/Berlin") == BERLIN
    for name in ("Mars/Olympus", "../../etc/passwd", "/etc/localtime", ""):
        with pytest.raises(InputError, match="there is no time zone"):
            parse_zone(name)


def test_an_hour_that_is_there_twice_is_quiet_twice_and_one_that_is_not_makes_none_shorter() -> None:
    back = Quiet.parse(["02:15-02:45"], BERLIN)
    for fold in (0, 1):
        assert back.until_s(at("2026-10-25 02:30", BERLIN, fold)) == at("2026-10-25 02:45", BERLIN, 1)
    forward = Quiet.parse(["02:15-02:45"], BERLIN)
    assert forward.until_s(at("2026-03-29 01:15", BERLIN)) is not None, "02:15 may be said to be then"
    assert Quiet.parse(["01:00-04:00"], BERLIN).until_s(at("2026-03-29 03:30", BERLIN)) == at("2026-03-29 02:00")


def shows(text_days: frozenset[int], start: int, end: int, wall: datetime) -> bool:
    """Whether a clock on the wall shows quiet hours, by the words of their definition."""
    minute = wall.hour * 60 + wall.minute
    if end > start:
        return wall.weekday() in text_days and start <= minute < end
    yesterday = (wall.weekday() - 1) % 7
    return (wall.weekday() in text_days and minute >= start) or (yesterday in text_days and minute < end)


@given(
    st.sampled_from(ZONES),
    st.frozensets(st.integers(0, 6), min_size=1),
    st.integers(0, 1439),
    st.integers(0, 1439),
    st.integers(int(SINCE.timestamp()) // 60, int(UNTIL.timestamp()) // 60),
)
@example(BERLIN, frozenset(range(7)), 120, 180, int(at("2026-10-25 02:30", BERLIN, 1)) // 60)
@example(BERLIN, frozenset({6}), 1380, 150, int(at("2026-03-30 01:00", BERLIN)) // 60)
def test_nothing_is_tried_whenever_the_wall_s_clock_shows_quiet_hours_and_seldom_else(
    zone: ZoneInfo, days: frozenset[int], start: int, end: int, minute: int
) -> None:
    if start == end:
        return
    names = ",".join(DAYS[day] for day in sorted(days))
    text = f"{names} {start // 60:02}:{start % 60:02}-{end // 60:02}:{end % 60:02}"
    quiet = Quiet.parse([text], zone)
    now = datetime.fromtimestamp(60.0 * minute, zone)
    is_quiet = quiet.until_s(60.0 * minute) is not None
    if shows(days, start, end, now):
        assert is_quiet
    elif is_quiet:
        around = {
            (now + timedelta(hours=hours)).astimezone(UTC).astimezone(zone).utcoffset() for hours in range(-49, 50)
        }
        assert len(around) > 1, "only where the clock is put forward or back"
    if is_quiet:
        until_s = quiet.until_s(60.0 * minute) or 0.0
        assert until_s > 60 * minute
        assert until_s >= 60.0 * minute + 8 * 86_400 or quiet.until_s(until_s) is None


@pytest.mark.parametrize(
    ("text", "zone", "fits"),
    [
        ("2020-01-01 00:00/9999-12-31 23:59", "UTC", True),
        ("2020-01-01 00:00/9999-12-31 23:59", "Europe/Berlin", True),
        ("2020-01-01 00:00/9999-12-31 23:59", "America/New_York", False),
        ("0001-01-01 00:00/2030-01-01 00:00", "America/New_York", True),
        ("0001-01-01 00:00/2030-01-01 00:00", "Asia/Tokyo", False),
    ],
)
def test_dates_that_utc_does_not_have_are_refused(text: str, zone: str, *, fits: bool) -> None:
    if fits:
        assert Quiet.parse([text], parse_zone(zone)).until_s(at("2026-01-01")) is not None
        return
    with pytest.raises(InputError, match="a date must be one of the calendar") as caught:
        Quiet.parse([text], parse_zone(zone))
    assert caught.value.value == text
