from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import pytest

from bayop.control.budget import Spending
from bayop.control.ledger import LedgerWindow, Phase, Search
from bayop.control.notes import SwitchedBack
from bayop.control.warm import Found
from bayop.control.week import HourLoad
from bayop.measurement import Measurement
from bayop.optimize.base import Observation
from bayop.state.held import HeldTime, Quarter, read_held_times
from bayop.state.records import known, read
from bayop.state.store import StateError, Store
from bayop.switchback import Switchback
from bayop.units import DAY_S

WINDOW = LedgerWindow(
    start_s=100.0,
    duration_s=60.0,
    phase="hold",
    setting={"power.cap_w": 90},
    qps=5000.0,
    power_w=90.5,
    latency_us=178.0,
    over_share=0.004,
    meets_slo=True,
)
SWITCHED_BACK = SwitchedBack(100.0, 280.0, {"power.cap_w": 90}, Switchback(90.5, 110.0, 91.5, 3000.0))
SEARCH = Search(3, "load +40%", 160.0, 170.0, 7000.0, (), "converged", None)

NOW_S = 1e6
"""Later than all that is remembered here."""

CAPS: Any = {"knobs": ["power.cap_w"], "quantities": {"power_w", "p99_us"}}
"""What a search of the cap under a p99 asks for."""


def observation(cap_w: float, p99_us: float = 178.0, qps: float = 5000.0) -> Observation:
    window = Measurement({"power_w": cap_w, "p99_us": p99_us}, {"p99_us": 0.02}, cut_short=None)
    return Observation({"power.cap_w": cap_w}, window, qps)


def test_what_was_learned_is_known_after_a_restart(path: Path) -> None:
    censored = Observation({"power.cap_w": 60}, Measurement({"p99_us": 900.0}, cut_short="p99 900 us"), 5000.0)
    with Store(path) as store:
        history = store.history("web", **CAPS)
        history.add(observation(90))
        history.add(censored)
        store.history("db", **CAPS).add(observation(70))
        assert len(history.near(5000.0)) == 2
    with Store(path) as store:
        again = store.history("web", **CAPS).near(5000.0)
        assert [dict(o.setting) for o in again] == [{"power.cap_w": 90}, {"power.cap_w": 60}]
        assert again[0] == observation(90)
        assert again[1].measurement.censored
        again_added = store.history("web", **CAPS)
        again_added.add(observation(80))
        assert len(store.history("web", **CAPS).near(5000.0)) == 3, "what was read is not written again"


def test_rows_come_back_as_they_were_written(path: Path) -> None:
    with Store(path) as store:
        store.add_window("web", WINDOW)
        store.add_search("web", SEARCH)
        store.add_event(171.0, None, "paused", {"file": "stop"})
        assert store.last_search("web") == 3
        assert store.last_search("db") == 0
        (window,) = read(path, "window")
        assert window["setting"] == {"power.cap_w": 90}
        assert (window["service"], window["phase"], window["meets_slo"]) == ("web", "hold", True)
        (search,) = read(path, "search")
        assert (search["number"], search["trials"], search["setting"]) == (3, 0, None)
        assert read(path, "event") == [
            {"time_s": 171.0, "service": None, "event": "paused", "fields": {"file": "stop"}}
        ]


def test_what_was_learned_of_one_service_is_forgotten(path: Path) -> None:
    with Store(path) as store:
        for name in ("web", "db"):
            store.history(name, **CAPS).add(observation(90))
        store.add_window("web", WINDOW)
        assert (store.forget("web"), store.forget("web")) == (1, 0)
        assert store.history("web", **CAPS).near(5000.0) == ()
        assert len(store.history("db", **CAPS).near(5000.0)) == 1
        assert len(read(path, "window")) == 1, "what has happened is not forgotten"


def test_an_operator_s_last_word_counts_after_a_restart(path: Path) -> None:
    with Store(path) as store:
        assert not store.is_paused("web")
        store.add_event(1.0, "web", "paused", {"by": "root"})
        store.add_event(2.0, None, "resumed", {"file": "stop"})
        store.add_event(3.0, "db", "resumed", {"by": "root"})
    with Store(path) as store:
        assert store.is_paused("web"), "neither the stop file nor another service's word"
        store.add_event(4.0, "web", "resumed", {"by": "root"})
        assert not store.is_paused("web")


def test_what_windows_have_shown_is_summed_between_two_times(path: Path) -> None:
    with Store(path) as store:
        assert store.spending("web", 0.0, 1000.0) == Spending(0, 0, 0)
        for start_s, over_share in ((100.0, 0.1), (160.0, 0.0), (220.0, 0.5)):
            store.add_window("web", replace(WINDOW, start_s=start_s, over_share=over_share))
        store.add_window("db", WINDOW)
        assert astuple(store.spending("web", 0.0, 1000.0)) == pytest.approx((5000 * 180, 5000 * 36, 180))
        assert astuple(store.spending("web", 130.0, 250.0)) == pytest.approx((5000 * 120, 5000 * 18, 120))
        assert store.spending("web", 230.0, 250.0) == Spending(5000 * 20, 5000 * 10, 20), "of one window, a part"
        assert store.spending("web", 500.0, 600.0).seen_s == 0


def test_what_searches_have_found_is_known_where_they_ended_by_themselves(path: Path) -> None:
    setting = {"power.cap_w": 90}
    with Store(path) as store:
        for n, stopped in enumerate(("converged", "quiet", "interrupted", "warm", "exhausted", "budget")):
            store.add_search("web", replace(SEARCH, qps=1000.0 + n, stopped=stopped, setting=setting))  # type: ignore[arg-type]
        store.add_search("web", replace(SEARCH, setting=None))
        store.add_search("db", replace(SEARCH, setting=setting))
        assert store.found("web", NOW_S) == [Found(qps, setting) for qps in (1000.0, 1004.0, 1005.0)]
        assert store.found("web", NOW_S, 1) == [Found(1005.0, setting)]
        store.add_event(SEARCH.start_s + 1.0, "web", "let-go", {})
        store.add_search("web", replace(SEARCH, start_s=SEARCH.start_s + 2.0, qps=7.0, setting=setting))
        assert store.found("web", NOW_S) == [Found(7.0, setting)], "what was found before saves nothing"
        assert store.found("db", NOW_S) == [Found(SEARCH.qps, setting)]


def test_what_was_held_later_instead_of_what_a_search_has_found_is_known(path: Path) -> None:
    found, better, last = ({"power.cap_w": cap_w} for cap_w in (90, 85, 80))
    with Store(path) as store:
        store.add_search("web", replace(SEARCH, setting=found))
        for after_s, setting in ((10.0, better), (20.0, last)):
            fields = {"setting": setting, "instead_of": found, "qps": 1000.0 + after_s, "missed_slo": False}
            store.add_event(SEARCH.end_s + after_s, "web", "polished", fields)
        store.add_event(SEARCH.end_s + 30.0, "web", "polished", {"setting": found, "instead_of": last})
        known = [Found(SEARCH.qps, found), Found(1010.0, better), Found(1020.0, last)]
        assert store.found("web", NOW_S) == known, "but for one of an older version, which does not say at which load"
        assert store.found("web", NOW_S, 1) == known[-1:]
        store.add_event(SEARCH.end_s + 40.0, "web", "let-go", {})
        assert store.found("web", NOW_S) == []


def test_hours_are_seen_where_windows_show_half_of_them(path: Path) -> None:
    with Store(path) as store:
        for start_s, qps in ((3600.0, 1000.0), (4500.0, 3000.0), (7200.0, 5000.0), (86_400.0, 7000.0)):
            store.add_window("web", replace(WINDOW, start_s=start_s, duration_s=900.0, qps=qps))
        store.add_window("web", replace(WINDOW, start_s=88_200.0, duration_s=900.0, qps=8000.0))
        assert store.hours("web", 0.0, NOW_S) == [HourLoad(3600.0, 2000.0), HourLoad(86_400.0, 7500.0)]
        assert store.hours("web", 7200.0, NOW_S) == [HourLoad(86_400.0, 7500.0)]
        assert store.hours("db", 0.0, NOW_S) == []


def test_advice_is_open_until_it_was_proven(path: Path) -> None:
    fields: dict[str, object] = {"setting": None, "qps": 5.0, "predicted": {}, "relative_sd": {}}
    with Store(path) as store:
        assert store.open_advice("web") is None
        store.add_event(1.0, "web", "advice", {**fields, "source": "a study"})
        store.add_event(2.0, "web", "asked", {})
        store.add_event(3.0, "db", "advice-proven", fields)
        assert dict(store.open_advice("web") or {}) == fields
        store.add_event(4.0, "web", "advice-proven", fields)
        assert store.open_advice("web") is None


def break_page(path: Path) -> None:
    """Writes over the page that has the events."""
    with Store(path) as store:
        store.add_event(1.0, "web", "paused", {})
        ((page,),) = store._query("SELECT rootpage FROM sqlite_master WHERE name = 'event'")
        ((size,),) = store._query("PRAGMA page_size")
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)


def test_switchbacks_are_judged_by_since_a_setting_was_let_go_of(path: Path) -> None:
    def at(start_s: float) -> SwitchedBack:
        return replace(SWITCHED_BACK, start_s=start_s, power_w=replace(SWITCHED_BACK.power_w, default=start_s))

    with Store(path) as store:
        for start_s in (100.0, 200.0, 300.0):
            store.add_switchback("web", at(start_s))
        store.add_switchback("db", at(400.0))
        assert [each.default for each in store.judged_switchbacks("web", NOW_S, 2)] == [200.0, 300.0]
        assert store.let_go_s("web", NOW_S) is None
        store.add_event(250.0, "web", "let-go", {})
        store.add_event(260.0, "db", "forgotten", {})
        assert store.judged_switchbacks("web", NOW_S, 9) == [at(300.0).power_w]
    with Store(path) as store:
        assert store.let_go_s("web", NOW_S) == 250.0
        store.add_event(500.0, "web", "forgotten", {})
        assert (store.let_go_s("web", NOW_S), store.judged_switchbacks("web", NOW_S, 9)) == (None, [])


def test_the_time_held_is_summed_by_quarters_of_an_hour(path: Path) -> None:
    with Store(path) as store:
        phases: dict[float, Phase] = {0.0: "hold", 60.0: "switchback", 840.0: "hold", 900.0: "hold", 960.0: "trial"}
        for start_s, phase in phases.items():
            store.add_window("web", replace(WINDOW, start_s=start_s, phase=phase))
        store.add_switchback("web", SWITCHED_BACK)
        time = store.held_time("web", 0.0, 1800.0)
        assert time.quarters == (Quarter(0.0, 120.0, 60.0), Quarter(900.0, 60.0, 0.0))
        assert time.switchbacks == ((100.0, SWITCHED_BACK.power_w),)
        assert time.between(900.0, 1800.0) == HeldTime((Quarter(900.0, 60.0, 0.0),), ())
        assert store.held_time("web", 900.0, 1800.0) == time.between(900.0, 1800.0)
        assert read_held_times(path) == {"web": time}
        assert read_held_times(path, "db") == {}


def test_what_was_learned_of_other_knobs_or_quantiles_waits_until_it_is_asked_for(path: Path) -> None:
    cut_short = Observation({"power.cap_w": 60}, Measurement({}, cut_short="the agent fell back"), 5000.0)
    with Store(path) as store:
        for each in (observation(90), cut_short):
            store.history("web", **CAPS).add(each)
        assert store.history("web", knobs=["nic.rx_usecs"], quantities={"p99_us"}).near(5000.0) == ()
        assert store.history("web", knobs=["power.cap_w", "nic.rx_usecs"], quantities={"p99_us"}).near(5000.0) == ()
        assert store.history("web", knobs=["power.cap_w"], quantities={"p50_us"}).near(5000.0) == (cut_short,)
        assert store.history("web", **CAPS).near(5000.0) == (observation(90), cut_short)


@contextmanager
def damaged(path: Path, changed: str) -> Iterator[tuple[Store, list[StateError]]]:
    """A state that somebody has changed, with what is said of it."""
    with sqlite3.connect(path) as other:
        other.execute(changed)
    other.close()
    said: list[StateError] = []
    with Store(path) as store:
        store.on_damage = said.append
        yield store, said


@pytest.mark.parametrize(
    "changed",
    [
        "setting = '7'",
        "measured = '[]'",
        "measured = 'no JSON'",
        "measured = CAST(x'22ff22' AS TEXT)",
        "measured = '{\"p99_us\": NaN}'",
        "measured = '{\"power_w\": -1e300}'",
        "relative_sd = NULL",
        "qps = 0",
        "qps = -3",
        "qps = 9e999",
    ],
)
def test_a_damaged_observation_is_left_out_and_said_to_be(path: Path, changed: str) -> None:
    with Store(path) as store:
        for cap_w in (90, 80):
            store.add_observation("web", observation(cap_w))
    change = f"UPDATE observation SET {changed} WHERE id = 1"  # noqa: S608 -- our own words
    with damaged(path, change) as (store, said):
        for _ in range(2):
            assert store.history("web", **CAPS).near(5000.0) == (observation(80),)
        assert [error.message.split(": ")[0] for error in said] == [f"the observation with id 1 in {path} is damaged"]
        assert said[0].hint == f"without it all is well: sqlite3 {path} 'DELETE FROM observation WHERE id = 1'"  # noqa: S608


def test_damage_of_which_nobody_hears_is_an_error(path: Path) -> None:
    with Store(path) as store:
        store.add_observation("web", observation(90))
        store._query("UPDATE observation SET qps = 0")
        with pytest.raises(StateError, match="the observation with id 1 "):
            store.history("web", **CAPS)
        with pytest.raises(StateError, match="the observation with id 1 "):
            known(path, "web", **CAPS)


@pytest.mark.parametrize(
    ("changed", "of"),
    [
        ("UPDATE event SET fields = 'x'", "event with id 1"),
        ('UPDATE event SET fields = \'{"qps": "x", "setting": {}}\'', "event with id 1"),
        ('UPDATE event SET fields = \'{"qps": 7000, "setting": 5}\'', "event with id 1"),
        ("UPDATE search SET setting = '5'", "search with id 1"),
        ("UPDATE search SET qps = -3", "search with id 1"),
    ],
)
def test_what_was_found_is_known_but_for_what_is_damaged(path: Path, changed: str, of: str) -> None:
    with Store(path) as store:
        store.add_search("web", replace(SEARCH, setting={"power.cap_w": 90}))
        store.add_event(171.0, "web", "polished", {"qps": 7000.0, "setting": {"power.cap_w": 80}})
        assert len(store.found("web", NOW_S)) == 2
    with damaged(path, changed) as (store, said):
        assert len(store.found("web", NOW_S)) == 1
        assert [of in error.message for error in said] == [True]


def test_numbers_that_are_none_are_not_counted_on(path: Path) -> None:
    with Store(path) as store:
        store.add_search("web", SEARCH)
        store.add_search("web", replace(SEARCH, number=2**63 - 1))
        store.add_event(1.0, "web", "advice", {})
    with damaged(path, "UPDATE event SET fields = '[]'") as (store, said):
        assert store.last_search("web") == SEARCH.number
        assert store.open_advice("web") is None
        assert len(said) == 2


@pytest.mark.parametrize("column", ["duration_s", "qps", "over_share", "power_w", "latency_us"])
@pytest.mark.parametrize("value", ["9e999", "-9e999"])
def test_a_window_with_an_endless_number_is_summed_nowhere_and_said_to_be_damaged(
    path: Path, column: str, value: str
) -> None:
    with Store(path) as store:
        for start_s in (0.0, 900.0, 1800.0):
            store.add_window("web", replace(WINDOW, start_s=start_s, duration_s=900.0, phase="hold", qps=10.0))
        whole = store.spending("web", 0.0, 3600.0)
    change = f"UPDATE window SET {column} = {value} WHERE id = 2"  # noqa: S608 -- our own words
    with damaged(path, change) as (store, said):
        assert store.spending("web", 0.0, 3600.0).requests == pytest.approx(whole.requests * 2 / 3)
        assert [quarter.start_s for quarter in store.held_time("web", 0.0, 3600.0).quarters] == [0.0, 1800.0]
        assert [hour.qps for hour in store.hours("web", 0.0, NOW_S)] == [10.0]
        store.age("web", 200 * DAY_S, days=9)
        assert store.spending("web", 0.0, 3600.0).requests == pytest.approx(whole.requests * 2 / 3)
        assert [error.message.split(": ")[0] for error in said] == [f"the window with id 2 in {path} is damaged"]
    with pytest.raises(StateError, match="the window with id 2 "):
        read_held_times(path)


def test_a_window_that_began_at_no_time_is_said_to_be_damaged(path: Path) -> None:
    with Store(path) as store:
        store.add_window("web", WINDOW)
    with damaged(path, "UPDATE window SET start_s = 9e999") as (store, said):
        assert store.hours("web", 0.0, NOW_S) == []
        assert len(said) == 1


@pytest.mark.parametrize("column", ["before_w", "default_w", "after_w", "pause_s"])
def test_a_switchback_with_an_endless_number_is_left_out_and_said_to_be_damaged(path: Path, column: str) -> None:
    with Store(path) as store:
        store.add_window("web", replace(WINDOW, phase="hold"))
        for start_s in (WINDOW.start_s, WINDOW.start_s + 60.0):
            store.add_switchback("web", replace(SWITCHED_BACK, start_s=start_s))
    change = f"UPDATE switchback SET {column} = 9e999 WHERE id = 1"  # noqa: S608 -- our own words
    with damaged(path, change) as (store, said):
        assert store.judged_switchbacks("web", NOW_S, 9) == [SWITCHED_BACK.power_w]
        assert len(store.held_time("web", 0.0, 1e9).switchbacks) == 1
        assert [error.message.split(": ")[0] for error in said] == [f"the switchback with id 1 in {path} is damaged"]
    with pytest.raises(StateError, match="the switchback with id 1 "):
        read_held_times(path)


def test_what_can_not_be_read_is_said_to_be_so(path: Path) -> None:
    store = Store(path)
    store.close()
    with pytest.raises(StateError, match="cannot read"):
        store.found("web", NOW_S)


def test_what_can_not_be_written_is_an_error_of_ours(path: Path) -> None:
    store = Store(path)
    store.close()
    with pytest.raises(StateError, match="cannot write"):
        store.add_window("web", WINDOW)


WRITER = """
import sys
from pathlib import Path
from tests.unit.state.test_store import observation
from bayop.state.store import Store
with Store(Path(sys.argv[1])) as store:
    history = store.history("web", **CAPS)
    for number in range(100_000):
        history.add(observation(number, qps=1000.0 + 20 * number))
        print(number, flush=True)
"""


@pytest.mark.parametrize("after_s", [0.0, 0.01, 0.03, 0.07])
def test_killed_at_any_write_it_opens_with_all_that_was_written(path: Path, after_s: float) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(after_s)
        os.kill(writer.pid, signal.SIGKILL)
        written = 1 + len(writer.stdout.read().splitlines())
    with Store(path) as store:
        caps = {dict(o.setting)["power.cap_w"] for o in store.history("web", **CAPS)._observations}
    assert caps >= set(range(written - 1)), "what was said to be written is there; a line may be cut off"
    assert len(caps) <= written + 1


@pytest.mark.parametrize("time_s", ["4e9", "9e999"])
def test_what_a_wrong_clock_has_dated_later_than_now_decides_nothing_and_is_said_once(path: Path, time_s: str) -> None:
    setting = {"power.cap_w": 90}
    with Store(path) as store:
        for service, row in (("web", SEARCH), ("db", replace(SEARCH, start_s=4e9))):
            store.add_search(service, replace(row, setting=setting))
        for start_s in (100.0, 5e9):
            store.add_switchback("web", replace(SWITCHED_BACK, start_s=start_s))
        store.add_event(50.0, "web", "let-go", {})
        store.add_event(1.0, "web", "let-go", {})
        store.add_window("web", replace(WINDOW, start_s=4e9, duration_s=3600.0))
    change = f"UPDATE event SET time_s = {time_s} WHERE id = 2"  # noqa: S608 -- our own words
    with damaged(path, change) as (store, said):
        for _ in range(2):
            assert store.let_go_s("web", NOW_S) == 50.0
            assert store.found("web", NOW_S) == [Found(SEARCH.qps, setting)]
            assert store.judged_switchbacks("web", NOW_S, 9) == [SWITCHED_BACK.power_w]
        assert [error.message.split(":")[0] for error in said] == [
            f"{path} has a row of {table} for web that lies ahead" for table in ("event", "switchback", "window")
        ]
        assert "sqlite3" in str(said[0].hint)
        assert store.hours("web", 0.0, NOW_S) == []
        assert store.found("db", NOW_S) == []
        assert len(said) == 4


def test_what_decides_is_in_the_main_file_alone(path: Path) -> None:
    alone = path.with_name("alone.db")
    with Store(path) as store:
        shutil.copy(path, alone)
        assert read(alone, "event") == []
        store.add_event(1.0, "web", "paused", {"by": "root"})
        store.add_search("web", SEARCH)
        shutil.copy(path, alone)
        with Store(alone) as copy:
            assert copy.is_paused("web")
            assert copy.last_search("web") == SEARCH.number
