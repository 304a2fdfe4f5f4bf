from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from tests.support.schemas import closed

from bayop.control.ledger import LedgerWindow, Search
from bayop.daemon.report import Line, Reporter
from bayop.errors import BayopError, InputError
from bayop.events import EVENTS, schema
from bayop.slo import Slo
from bayop.state.records import read
from bayop.state.store import StateError, Store

SLO = Slo.parse("p99<200us")
HOLD = LedgerWindow(
    start_s=1e9,
    duration_s=60.0,
    phase="hold",
    setting={"power.cap_w": 90},
    qps=5000.0,
    power_w=90.123456789,
    latency_us=178.0,
    over_share=0.0,
    meets_slo=True,
)
TRIAL = replace(HOLD, phase="trial", search=2)
VALIDATOR = Draft202012Validator(closed(schema("run", EVENTS["run"])))


class Said:
    def __init__(self, path: Path) -> None:
        self.store = Store(path)
        self.told: list[Line] = []
        self.events: list[Mapping[str, object]] = []
        self.reporter = Reporter(self.store, lambda: 1e9, self.told.append, self.events.append)

    @property
    def lines(self) -> list[str]:
        return [line.text for line in self.told]


@pytest.fixture
def said(tmp_path: Path) -> Iterator[Said]:
    said = Said(tmp_path / "state.db")
    yield said
    said.store.close()
    for event in said.events:
        VALIDATOR.validate(event)


@pytest.mark.parametrize(
    ("window", "line"),
    [
        (HOLD, None),
        (TRIAL, "trial of search 2: power.cap_w 90W: 90.1 W, p99 178 us at 5000 qps"),
        (
            replace(HOLD, latency_us=230.0, meets_slo=False),
            "hold: power.cap_w 90W: 90.1 W, p99 230 us at 5000 qps, which misses p99<200us",
        ),
        (
            replace(HOLD, power_w=None, latency_us=None, meets_slo=False, cut_short="the agent fell back: p99 900 us"),
            "hold: power.cap_w 90W: cut short, the agent fell back: p99 900 us",
        ),
        (
            replace(HOLD, phase="default", setting=None, latency_us=230.0, meets_slo=False),
            "default: the default: 90.1 W, p99 230 us at 5000 qps, which misses p99<200us",
        ),
    ],
)
def test_people_hear_of_trials_and_of_what_missed_the_slo(said: Said, window: LedgerWindow, line: str | None) -> None:
    said.reporter.window("web", SLO, window)
    assert said.lines == ([] if line is None else [f"web: {line}"])
    (event,) = said.events
    assert (event["service"], event["phase"], event["power_w"]) == (
        "web",
        window.phase,
        None if window.power_w is None else 90.1235,
    )
    assert event["time"] == "2001-09-09T01:47:40.000+00:00", "when it ended"


@pytest.mark.parametrize(
    ("setting", "result"), [(None, "the default stays"), ({"power.cap_w": 90}, "found power.cap_w 90W")]
)
def test_a_search_is_told_with_its_result(said: Said, setting: Mapping[str, float] | None, result: str) -> None:
    said.reporter.search("web", Search(2, "load +40%", 1.0, 9.0, 7000.0, (), "converged", setting))
    assert said.lines == [f"web: search 2 (load +40%) ended after 0 trials, converged: {result}"]


def test_trouble_is_one_line_with_what_to_do(said: Said) -> None:
    said.reporter.trouble("web", InputError(wrong="no agent listens", hint="start it"), 4.0)
    assert said.lines == ["web: no agent listens (hint: start it); again in 4 s"]
    assert [line.event for line in said.told] == said.events
    assert read(said.store.path, "event")[0]["fields"]["hint"] == "start it"


def test_a_reader_who_leaves_and_a_full_disk_stop_nobody(said: Said) -> None:
    def gone(_: object) -> None:
        raise BayopError(wrong="nobody reads stdout any more")

    Reporter(said.store, lambda: 0.0, gone, gone).say("paused", "stop", file="stop")
    said.store.close()
    said.reporter.say("paused", "stop is there", file="stop")
    assert said.lines == ["stop is there"]
    with pytest.raises(StateError):
        said.reporter.window("web", SLO, HOLD)
