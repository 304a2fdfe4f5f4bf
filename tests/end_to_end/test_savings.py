"""Switchbacks of `bayop run` with the real agent: the default for a window, the setting again, and what that says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.end_to_end.test_run import history, running, tree_of, written
from tests.support.agents import AgentProcess, Machine
from tests.support.patience import eventually
from tests.support.schemas import closed
from tests.support.services import Clients, service

from bayop.daemon.operator.client import ask
from bayop.events import ERROR, EVENTS, schema
from bayop.state.held import read_held_times

# Windows of a second end on time on a machine that does nothing else.
pytestmark = [pytest.mark.alone, pytest.mark.timeout(400)]

SAVINGS = """\
[service.web.savings]
share = 0.1
least_share = 0.1
price_per_kwh = 0.3
currency = "EUR"
"""
LATEST_S = 240.0
"""One window in ten is followed by one of the default, by chance."""


def savings(file: Path) -> list[dict[str, Any]]:
    events = history(file, "--of", "saving")
    validator = Draft202012Validator(closed(schema("history", [*EVENTS["history"], ERROR])))
    for event in events:
        validator.validate(event)
    return events


def test_the_default_is_back_for_a_window_and_what_it_says_outlives_a_restart(
    tmp_path: Path, agent: AgentProcess, machine: Machine
) -> None:
    found = tree_of(machine)
    file = written(tmp_path, service(agent, Clients(tmp_path / "clients"), more=SAVINGS))
    with running(file) as run:
        run.until("search")
        state = file.with_name("bayop.db")
        assert eventually(lambda: any(t.switchbacks for t in read_held_times(state).values()), within_s=LATEST_S)
        windows = run.events("window")
        phases = [window["phase"] for window in windows]
        at = phases.index("switchback")
        assert phases[at - 1 : at + 2] == ["hold", "switchback", "hold"]
        assert windows[at]["setting"] is None
        assert windows[at + 1]["setting"] == windows[at - 1]["setting"] == {"power.cap_w": 90}
        (standing,) = ask(state, "status")
        assert standing["saved"]["switchbacks"] >= 1
        assert run.end() == 0
    assert tree_of(machine) == found
    before = savings(file)[-1]
    assert (before["service"], before["of"], before["currency"]) == ("web", "all", "EUR")
    assert before["held_s"] > before["switchback_s"] > 0.0
    assert before["power_w"] is not None
    assert before["energy_kwh"] is not None
    assert before["cost"] is not None
    with running(file) as run:
        run.until("window", such=lambda window: window["phase"] == "hold")
        assert run.end() == 0
    after = savings(file)[-1]
    assert after["switchbacks"] >= before["switchbacks"]
    assert after["held_s"] > before["held_s"]
