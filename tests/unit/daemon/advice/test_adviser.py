"""When advice is given, and when it is held against what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bayop.control.ledger import LedgerWindow, Phase
from bayop.daemon.advice.advice import Advice
from bayop.daemon.advice.adviser import Adviser, Proof
from bayop.daemon.file import DaemonFile, ServiceFile
from bayop.daemon.report import Reporter
from bayop.domains import Steps
from bayop.measurement import Measurement
from bayop.optimize.base import Observation
from bayop.space import Knob, Setting, Space
from bayop.state.store import StateError, Store

CAP = "power.cap_w"
SPACE = Space((Knob(CAP, Steps(60, 120, 5), safest="high"),))
TEXT = """
[service.web]
agent = "unix:/run/bayop/agent.sock"
latency = "sh p99.sh"
slo = "p99<200us"
mode = "advise"
"""


def window(qps: float, setting: Setting | None = None, *, power_w: float = 120.0) -> LedgerWindow:
    phase: Phase = "default" if setting is None else "trial"
    return LedgerWindow(0.0, 60.0, phase, setting, qps, power_w, 100 * qps / 5000, 0.0, meets_slo=True)


class Noted:
    """A service whose caps have been measured at one load, with what is said of it."""

    def __init__(self, folder: Path) -> None:
        path = folder / "bayop.toml"
        path.write_text(TEXT, encoding="utf-8")
        (self.file,) = DaemonFile.read(path).services
        self.store = Store(folder / "bayop.db")
        self.events: list[Mapping[str, Any]] = []
        self.reporter = Reporter(self.store, lambda: 0.0, lambda _: None, self.events.append)
        for cap_w in (120, 105, 95, 90):
            seen = {"power_w": float(cap_w), "p99_us": 100 * (120 / cap_w) ** 2, "utilization": 0.5}
            self.store.add_observation("web", Observation({CAP: cap_w}, Measurement(seen, {"p99_us": 0.01}), 5000.0))

    @property
    def adviser(self) -> Adviser:
        return Adviser(self.file, self.store, self.reporter, SPACE, listen=lambda: None)

    @property
    def proof(self) -> Proof:
        return Proof(applied(self.file), self.store, self.reporter)


def applied(file: ServiceFile) -> ServiceFile:
    return replace(file, mode="apply")


@pytest.fixture
def noted(tmp_path: Path) -> Iterator[Noted]:
    noted = Noted(tmp_path)
    yield noted
    noted.store.close()


def test_advice_is_renewed_when_the_load_changes(noted: Noted) -> None:
    adviser = noted.adviser
    for qps in (5000.0, 5100.0, 4900.0, 7000.0, 7000.0):
        adviser.heed(window(qps))
    first, second = noted.events
    assert (first["event"], first["qps"], second["qps"]) == ("advice", 5000.0, 7000.0)
    assert first["setting"] in ({CAP: 85}, {CAP: 90})
    assert second["slo_probability"] < 0.95 < first["slo_probability"], "nothing was measured at this load"
    assert first["saving"]["power_w"] == pytest.approx(120 - first["predicted"]["power_w"], rel=1e-4)


def test_what_somebody_else_has_applied_is_no_default(noted: Noted) -> None:
    adviser = noted.adviser
    adviser.heed(replace(window(5000.0), phase="other"))
    adviser.heed(replace(window(5000.0), power_w=None))
    assert noted.events == []


def test_later_it_is_said_once_how_far_off_it_was(noted: Noted) -> None:
    noted.adviser.heed(window(5000.0))
    setting = noted.events[-1]["setting"]
    expected_w = noted.events[-1]["predicted"]["power_w"]
    proof = noted.proof
    for seen in (
        window(5000.0),
        window(9000.0, setting),
        replace(window(5000.0, setting), cut_short="p99 900 us"),
        window(5000.0, {CAP: 60}),
    ):
        proof.heed(seen)
    assert len(noted.events) == 1, "the default, another load, a window cut short, another setting"
    proof.heed(window(5000.0, setting, power_w=1.1 * expected_w))
    proof.heed(window(5000.0, setting))
    (_, proven) = noted.events
    assert proven["event"] == "advice-proven"
    assert proven["errors"]["power_w"] == pytest.approx(0.1, abs=1e-3)
    noted.proof.heed(window(5000.0, setting))
    assert len(noted.events) == 2, "nor after a restart"


@pytest.mark.parametrize(
    "fields",
    [
        "{}",
        "{'setting': {'power.cap_w': 85}}",
        "{'setting': {'power.cap_w': 85}, 'qps': 5000, 'predicted': {'power_w': 0}, 'relative_sd': {}}",
        "{'setting': {'power.cap_w': 85}, 'qps': 0, 'predicted': {}, 'relative_sd': {}}",
        "{'setting': 7, 'qps': 5000, 'predicted': {}, 'relative_sd': {}}",
    ],
)
def test_advice_that_is_damaged_proves_nothing_and_is_said_to_be(noted: Noted, fields: str) -> None:
    noted.adviser.heed(window(5000.0))
    noted.store._query("UPDATE event SET fields = ?", fields.replace("'", '"'))
    said: list[StateError] = []
    noted.store.on_damage = said.append
    proof = noted.proof
    proof.heed(window(5000.0, {CAP: 85}))
    assert [event["event"] for event in noted.events] == ["advice"]
    assert [error.message.split(" in ")[0] for error in said] == ["the event with id 1"]


def test_without_advice_there_is_nothing_to_prove(noted: Noted) -> None:
    noted.proof.heed(window(5000.0, {CAP: 90}))
    assert noted.events == []


def test_what_says_nothing_is_said_once_and_proves_nothing(noted: Noted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Advice, "is_informed", property(lambda _: False))
    adviser = noted.adviser
    for _ in range(2):
        adviser.heed(window(5000.0))
    (said,) = noted.events
    assert said["event"] == "no-advice"
    assert not {"setting", "first", "saving"} & said.keys()
    assert noted.store.open_advice("web") is None
