"""Old windows lose detail and nothing that is summed; a file of the first version is brought up to date."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import astuple, replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from bayop.control.ledger import LedgerWindow
from bayop.state import schema
from bayop.state.aging import GRAINS
from bayop.state.records import read
from bayop.state.store import Store

DAY_S = 86_400.0
WINDOW = LedgerWindow(0.0, 60.0, "hold", {"power.cap_w": 90}, 5000.0, 90.5, 178.0, 0.004, meets_slo=True)


def windows_of(days: float, *, since_s: float = 0.0) -> Iterator[LedgerWindow]:
    """Windows of 60 s: a held setting, every fifth the default, every hundredth over the SLO."""
    for n in range(int(days * 1440)):
        window = replace(WINDOW, start_s=since_s + 60.0 * n, qps=5000.0 + n % 7, power_w=90.0 + n % 3)
        if n % 5 == 0:
            window = replace(window, phase="default", setting=None, power_w=120.0)
        yield replace(window, over_share=0.02, meets_slo=False, latency_us=300.0) if n % 100 == 0 else window


def fill(path: Path, windows: Iterable[LedgerWindow]) -> None:
    """Writes windows at once, as a store writes them one by one."""
    columns = [n for n in astuple_names() if n != "setting"]
    with Store(path), closing(sqlite3.connect(path)) as database, database:
        names, marks = ", ".join(["service", "setting", *columns]), ", ".join("?" * (2 + len(columns)))
        rows = (
            ("web", None if w.setting is None else '{"power.cap_w": 90}', *(getattr(w, c) for c in columns))
            for w in windows
        )
        database.executemany(f"INSERT INTO window ({names}) VALUES ({marks})", rows)  # noqa: S608 -- our own names


def astuple_names() -> tuple[str, ...]:
    return tuple(LedgerWindow.__dataclass_fields__)


def sums(path: Path) -> dict[str, tuple[Any, ...]]:
    """Time, energy, requests and requests over the limit, by kind."""
    sql = """
        SELECT phase || meets_slo, total(duration_s), total(duration_s * power_w), total(duration_s * qps),
          total(duration_s * qps * over_share), total(duration_s * qps * latency_us) FROM window GROUP BY 1
    """
    with closing(sqlite3.connect(path)) as database:
        return {kind: tuple(rest) for kind, *rest in database.execute(sql)}


def test_windows_become_coarse_with_age_and_sums_stay(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    fill(path, windows_of(20))
    before, now_s = sums(path), 20 * DAY_S
    with Store(path) as store:
        spent = astuple(store.spending("web", 2 * DAY_S, now_s))
        hours = {hour.start_s: hour.qps for hour in store.hours("web", 0.0, now_s)}
        store.age("web", now_s, days=100)
        assert astuple(store.spending("web", 2 * DAY_S, now_s)) == pytest.approx(spent)
        assert {hour.start_s: hour.qps for hour in store.hours("web", 0.0, now_s)} == pytest.approx(hours)
    after = sums(path)
    assert after.keys() == before.keys()
    for kind, values in before.items():
        assert after[kind] == pytest.approx(values), kind
    rows = read(path, "window", last=100_000)
    coarse = [row for row in rows if row["grain_s"]]
    assert {row["grain_s"] for row in coarse} == {600}
    assert max(row["start_s"] for row in coarse) < 6 * DAY_S <= min(r["start_s"] for r in rows if not r["grain_s"])
    assert len(coarse) < 6 * 144 * 3
    assert {row["duration_s"] for row in coarse} <= {60.0, 120.0, 420.0, 480.0}


def test_after_a_season_rows_are_of_an_hour(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    fill(path, windows_of(3))
    with Store(path) as store:
        store.age("web", 20 * DAY_S, days=100)
        fine = len(read(path, "window", last=100_000))
        store.age("web", 3 * DAY_S + GRAINS[1].after_s, days=100)
        store.age("web", 3 * DAY_S + GRAINS[1].after_s, days=100)
    rows = read(path, "window", last=100_000)
    assert {row["grain_s"] for row in rows} == {3600}
    assert len(rows) <= 3 * 24 * 4 < fine
    assert sums(path)["hold1"][0] == pytest.approx(
        sum(w.duration_s for w in windows_of(3) if w.phase == "hold" and w.meets_slo)
    )


def test_trials_and_what_was_cut_short_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with Store(path) as store:
        for window in (
            replace(WINDOW, phase="trial", search=1),
            replace(WINDOW, start_s=60.0, cut_short="p99 900 us", power_w=None, latency_us=None),
            replace(WINDOW, start_s=120.0, power_w=None, latency_us=None),
            replace(WINDOW, start_s=180.0),
        ):
            store.add_window("web", window)
        store.add_window("db", replace(WINDOW, start_s=60.0))
        store.age("web", 30 * DAY_S)
    rows = read(path, "window")
    assert [(r["service"], r["phase"], r["grain_s"]) for r in rows] == [
        ("web", "trial", 0), ("web", "hold", 0), ("db", "hold", 0), ("web", "hold", 600),
    ]  # fmt: skip
    assert (rows[-1]["duration_s"], rows[-1]["power_w"], rows[-1]["latency_us"]) == (120.0, 90.5, 178.0)


def test_it_is_done_while_windows_are_written(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    fill(path, chain(windows_of(1), [replace(WINDOW, start_s=29 * DAY_S)]))
    with Store(path) as store:
        store.add_window("web", replace(WINDOW, start_s=30 * DAY_S))
    assert len([row for row in read(path, "window", last=10_000) if not row["grain_s"]]) == 2


AGER = """
import sys
from pathlib import Path
from bayop.state.store import Store
with Store(Path(sys.argv[1])) as store:
    print("begins", flush=True)
    store.age("web", 30 * 86_400.0, days=100)
"""


@pytest.mark.parametrize("after_s", [0.0, 0.01, 0.03, 0.06])
def test_killed_at_any_write_nothing_is_lost_or_there_twice(tmp_path: Path, after_s: float) -> None:
    path = tmp_path / "state.db"
    fill(path, windows_of(8))
    before = sums(path)
    with subprocess.Popen([sys.executable, "-c", AGER, path], stdout=subprocess.PIPE, text=True) as ager:
        assert ager.stdout is not None
        ager.stdout.readline()
        time.sleep(after_s)
        os.kill(ager.pid, signal.SIGKILL)
    with Store(path) as store:
        assert sums(path)["hold1"] == pytest.approx(before["hold1"])
        store.age("web", 30 * DAY_S, days=100)
    assert sums(path)["hold1"] == pytest.approx(before["hold1"])


WEEK = """
WITH RECURSIVE minutes(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM minutes WHERE n < 10079)
INSERT INTO window (service, start_s, duration_s, phase, setting, qps, power_w, latency_us, over_share, meets_slo)
SELECT 'web', ?1 + 60.0 * n, 60.0, iif(n % 5, 'hold', 'default'), iif(n % 5, '{"power.cap_w": 90}', NULL),
  5000.0 + n % 7, 90.0 + n % 3, 178.0, iif(n % 100, 0.004, 0.02), n % 100 > 0 FROM minutes
"""


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_year_of_one_server_is_small(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    for week in range(52):
        with Store(path) as store:
            with closing(sqlite3.connect(path)) as database, database:
                database.execute(WEEK, (week * 7 * DAY_S,))
            store.age("web", (week + 1) * 7 * DAY_S)
    size_mb = sum(file.stat().st_size for file in tmp_path.iterdir()) / 1e6
    print(f"a year of windows of 60 s: {size_mb:.1f} MB")
    assert size_mb < 20, "10,000 rows are a megabyte or two; the bar is 200 MB"
    seen_s = sum(values[0] for values in sums(path).values())
    assert seen_s == pytest.approx(52 * 7 * DAY_S)


def first_version(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.executescript(f"BEGIN; {schema._FIRST} PRAGMA user_version = 1; COMMIT;")
        database.execute(
            "INSERT INTO window (service, start_s, duration_s, phase, qps, over_share, meets_slo)"
            " VALUES ('web', 60, 60, 'default', 5000, 0, 1)"
        )
        database.commit()


def test_a_file_of_the_first_version_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    first_version(path)
    with pytest.raises(Exception, match="a state must have the tables of version 2") as caught:
        read(path, "window")
    assert "it is of version 1: a bayop run that opens it brings it up to date" in str(caught.value.hint)  # type: ignore[attr-defined]
    for _ in range(2):
        with Store(path) as store:
            assert store.spending("web", 0.0, 120.0).seen_s == 60
    assert [(row["start_s"], row["grain_s"]) for row in read(path, "window")] == [(60.0, 0)]


def test_a_clock_that_is_ahead_ages_nothing_before_it_has_shown_a_day(tmp_path: Path) -> None:
    """A year ahead when `bayop run` starts, what was seen a minute ago would be told by the hour, for good."""
    path = tmp_path / "state.db"
    fill(path, windows_of(1, since_s=365 * DAY_S))
    ahead_s = 2 * 365 * DAY_S
    with Store(path) as store:
        store.add_window("web", replace(WINDOW, start_s=ahead_s))
    assert len(read(path, "window", last=10_000)) == 1441
    fill(path, windows_of(1, since_s=ahead_s))
    with Store(path) as store:
        store.add_window("web", replace(WINDOW, start_s=ahead_s + DAY_S))
    assert len(read(path, "window", last=10_000)) < 1441 + 1440
