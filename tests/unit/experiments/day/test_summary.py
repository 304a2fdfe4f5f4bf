"""Sums over windows that are written by hand; those of a day that was played are tested with it."""

from __future__ import annotations

import pytest

from bayop.control.ledger import LedgerWindow
from bayop.experiments.day.record import DayRecord, Kind, RunRecord
from bayop.experiments.day.summary import Row, mean_latency_us, summarize


def window(power_w: float, latency_us: float, *, over_share: float = 0.0, duration_s: float = 3600.0) -> LedgerWindow:
    met = latency_us < 500.0
    return LedgerWindow(0.0, duration_s, "hold", None, 1000.0, power_w, latency_us, over_share, met)


def run(kind: Kind, *windows: LedgerWindow, os: str = "linux") -> RunRecord:
    return RunRecord(f"{kind}-{os}", f"{kind} on {os}", os, kind, windows)


def summary(*runs: RunRecord, objective: str = "power") -> list[Row]:
    return summarize(DayRecord("memcached", "p99<500us", objective, "clock", "flat", 1, (1000.0,), "", runs, ()))


def test_a_day_is_compared_with_the_first_configuration() -> None:
    default, search = summary(run("default", window(100.0, 100.0)), run("search", window(75.0, 400.0)))
    assert default.saving == 0.0
    assert default.energy_kwh == pytest.approx(0.1)
    assert search.saving == pytest.approx(0.25)
    assert search.bound_share is None, "there is no bound"


def test_more_energy_is_a_negative_saving() -> None:
    _, worse = summary(run("default", window(100.0, 100.0)), run("search", window(120.0, 100.0)))
    assert worse.saving == pytest.approx(-0.2)


def test_what_missed_the_slo_is_counted_in_hours_and_requests() -> None:
    (row,) = summary(run("default", window(100.0, 100.0, over_share=0.001), window(100.0, 900.0, over_share=0.3)))
    assert row.hours_over == pytest.approx(1.0)
    assert row.requests == pytest.approx(7_200_000)
    assert row.requests_over == pytest.approx(1000.0 * 3600 * 0.301)
    assert row.over_share == pytest.approx(0.301 / 2)


def test_latency_is_a_mean_over_time_and_not_over_windows() -> None:
    day = run("search", window(100.0, 100.0, duration_s=3000.0), window(100.0, 400.0, duration_s=1000.0))
    assert mean_latency_us(day) == pytest.approx(175.0)


def test_the_share_of_the_bound_is_of_what_could_be_gained_on_that_system() -> None:
    runs = (
        run("default", window(100.0, 100.0)),
        run("search", window(80.0, 400.0)),
        run("bound", window(75.0, 480.0)),
        run("search", window(60.0, 300.0), os="ebbrt"),
    )
    default, search, bound, elsewhere = summary(*runs)
    assert (default.bound_share, elsewhere.bound_share) == (None, None)
    assert search.bound_share == pytest.approx(0.8)
    assert bound.bound_share == pytest.approx(1.0)


def test_the_share_is_of_latency_when_latency_alone_was_minimised() -> None:
    runs = (run("default", window(100.0, 200.0)), run("search", window(150.0, 110.0)), run("bound", window(1.0, 100.0)))
    assert summary(*runs, objective="latency")[1].bound_share == pytest.approx(0.9)


def test_a_share_of_next_to_nothing_is_none() -> None:
    runs = (run("default", window(100.0, 100.0)), run("search", window(99.0, 100.0)), run("bound", window(98.5, 100.0)))
    assert summary(*runs)[1].bound_share is None
