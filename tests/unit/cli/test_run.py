"""`bayop run --check` and `bayop history` as people and programs see them; the daemon is tested end to end."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from tests.support.agents import AgentProcess, Machine
from tests.support.schemas import closed
from tests.support.services import Clients, service
from tests.unit.state.test_store import SEARCH, WINDOW, break_page

from bayop.cli import main
from bayop.control.notes import SwitchedBack
from bayop.events import EVENTS, schema
from bayop.state.store import Store
from bayop.switchback import Switchback


@pytest.fixture
def file(tmp_path: Path, agent: AgentProcess, machine: Machine) -> Path:  # noqa: ARG001 -- the agent needs a machine
    path = tmp_path / "bayop.toml"
    path.write_text(service(agent, Clients(tmp_path / "clients")), encoding="utf-8")
    return path


def test_a_check_of_what_is_all_there(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(file), "--check"]) == 0
    output = capsys.readouterr().out
    assert "web: mode apply, unix:" in output
    assert "would search power.cap_w 60W to 120W in steps of 5W for the least power under p99<200us" in output
    assert "W, p99 100 us" in output
    assert main(["run", str(file), "--check", "--json"]) == 0
    event = json.loads(capsys.readouterr().out)
    Draft202012Validator(closed(schema("run", EVENTS["run"]))).validate(event)
    assert (event["service"], event["problems"], event["seen"]["p99_us"]) == ("web", [], 100)
    assert not (file.parent / "bayop.db").exists(), "a check remembers nothing"


def test_a_check_of_what_is_missing(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(file.read_text(encoding="utf-8").replace("agent.sock", "nobody.sock"), encoding="utf-8")
    assert main(["run", str(file), "--check"]) == 2
    output = capsys.readouterr().out
    assert "missing: no agent listens" in output
    assert f"{file}:3" in output
    assert "hint: start it on the server" in output
    assert main(["run", str(file), "--check", "--json"]) == 2
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert problem["place"].startswith(f"{file}:3")


def test_a_state_with_damaged_pages_ends_it_at_once(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    break_page(file.with_suffix(".db"))
    assert main(["run", str(file)]) == 2
    error = capsys.readouterr().err
    assert "error: cannot read " in error
    assert f".recover | sqlite3 {file.with_suffix('.db')}" in error
    file.with_suffix(".db").write_text("a diary, and no state" * 99, encoding="utf-8")
    assert main(["run", str(file)]) == 2
    assert "move it aside" in capsys.readouterr().err


@pytest.mark.parametrize("now_s", [-1.0, 253_402_300_800.0, 1e18])
def test_a_clock_that_no_calendar_has_is_refused(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, now_s: float
) -> None:
    monkeypatch.setattr(time, "time", lambda: now_s)
    assert main(["run", str(file)]) == 2
    assert "the clock must show a year from 1970 to 9998" in capsys.readouterr().err
    assert not file.with_suffix(".db").exists()


def test_a_damaged_row_is_left_out_of_a_table_and_said_to_be(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store(state) as store:
        store.add_event(253_402_300_800.0, None, "start", {})
        store.add_event(1.0, None, "stop", {"restored": True})
    assert main(["history", str(state), "--of", "event", "--json"]) == 0
    output, error = capsys.readouterr()
    assert '"what":"stop"' in output.replace(" ", "")
    assert "the event with id " in error
    assert f"hint: without it all is well: sqlite3 {state} " in error


@pytest.mark.parametrize("words", [["run"], ["run", "--check"], ["history"]])
def test_a_file_that_is_wrong_has_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    path = tmp_path / "bayop.toml"
    path.write_text("[service.web]\nagnet = 1\n", encoding="utf-8")
    assert main([words[0], str(path), *words[1:]]) == 2
    error = capsys.readouterr().err
    assert f"there is no key 'agnet' ({path}:2)" in error
    assert "hint: did you mean agent?" in error


@pytest.fixture
def state(tmp_path: Path) -> Path:
    path = tmp_path / "bayop.db"
    with Store(path) as store:
        store.add_window("web", WINDOW)
        store.add_search("web", SEARCH)
        store.add_event(171.0, "web", "trouble", {"message": "no agent listens", "hint": None})
    return path


@pytest.mark.parametrize(
    ("table", "shown"),
    [
        ("search", ["1970-01-01 00:02:50Z", "load +40%", "converged", "default"]),
        ("window", ["1970-01-01 00:01:40Z", "hold", "power.cap_w 90W", "60 s", "90.5 W", "178 us", "met"]),
        ("event", ["trouble", "message no agent listens"]),
    ],
)
def test_what_was_done_is_listed(
    state: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, table: str, shown: list[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    assert main(["history", str(state), "--of", table]) == 0
    output = capsys.readouterr().out
    assert [text for text in shown if text not in output] == []
    assert main(["history", str(state), "--of", table, "--json"]) == 0
    event = json.loads(capsys.readouterr().out)
    Draft202012Validator(closed(schema("history", EVENTS["history"]))).validate(event)
    assert main(["history", str(state), "--of", table, "--service", "db"]) == 2
    assert "there is no service 'db' (--service)\nhint: one of web" in capsys.readouterr().err


def test_a_file_leads_to_its_state(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = state.with_suffix(".toml")
    text = '[service.web]\nagent = "unix:/a"\nlatency = "./p99.sh"\nslo = "p99<500us"\n'
    file.write_text(text, encoding="utf-8")
    assert main(["history", str(file)]) == 0
    assert "load +40%" in capsys.readouterr().out
    file.write_text(f'state = "new.db"\n{text}', encoding="utf-8")
    assert main(["history", str(file)]) == 2
    assert "has remembered nothing yet" in capsys.readouterr().err


def test_savings_are_listed_by_days_and_in_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    day_s, file = 86_400.0, tmp_path / "bayop.toml"
    with Store(file.with_suffix(".db")) as store:
        assert main(["history", str(store.path), "--of", "saving"]) == 0
        assert "There is no saving yet" in capsys.readouterr().out
        for start_s in (0.0, day_s):
            store.add_window("web", replace(WINDOW, start_s=start_s, duration_s=3600.0))
            for n in range(2):
                power_w = Switchback(90.0, 100.0 + n, 90.0, 3000.0)
                store.add_switchback("web", SwitchedBack(start_s + 600 * n, start_s, {"power.cap_w": 90}, power_w))
    assert main(["history", str(file.with_suffix(".db")), "--of", "saving", "--json", "--last", "1"]) == 0
    day, whole = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    validator = Draft202012Validator(closed(schema("history", EVENTS["history"])))
    for event in (day, whole):
        validator.validate(event)
    assert [(e["of"], e["start_s"], e["end_s"]) for e in (day, whole)] == [
        ("day", day_s, 2 * day_s),
        ("all", 0.0, 2 * day_s),
    ]
    assert (day["switchbacks"], whole["switchbacks"]) == (2, 4)
    assert (whole["power_w"]["value"], whole["energy_kwh"]["value"], whole["cost"]) == (10.5, 0.021, None)
    file.write_text(
        '[service.web]\nagent = "unix:/a"\nlatency = "./p99.sh"\nslo = "p99<500us"\n'
        '[service.web.savings]\nprice_per_kwh = 2\ncurrency = "EUR"\n',
        encoding="utf-8",
    )
    assert main(["history", str(file), "--of", "saving"]) == 0
    output = capsys.readouterr().out
    for shown in ("1970-01-01", "1970-01-02", "all", "2.0 h", "100.5 W", "0.042 EUR"):
        assert shown in output
