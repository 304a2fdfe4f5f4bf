"""The verbs of an operator as people see them; what they do is tested end to end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bayop.cli import main
from bayop.daemon.operator.listener import listening
from bayop.daemon.operator.wire import socket_of

HOLDS: Mapping[str, object] = {
    "event": "service", "service": "web", "mode": "apply", "doing": "hold", "setting": {"power.cap_w": 90},
    "slo": "p99<200us", "qps": 5000.0, "power_w": 90.5, "latency_us": 178.0, "margin": 0.11, "current": True,
    "budget_left": 0.25, "quiet_until": None, "waits_for": None, "paused_by": [], "restored": False, "trouble": None,
    "saved": {"held_s": 600.0, "switchback_s": 60.0, "switchbacks": 1, "default_w": 110.0,
              "power_w": {"value": 19.5, "low": None, "high": None},
              "energy_kwh": {"value": 0.0033, "low": 0.003, "high": 0.0036}, "cost": None, "currency": None,
              "carbon_g": None},
}  # fmt: skip
PAUSED = {**HOLDS, "doing": "paused", "setting": None, "paused_by": ["operator"], "restored": True}


class Daemon:
    """Answers what a test says."""

    def __init__(self) -> None:
        self.events: list[Mapping[str, object]] = [HOLDS]
        self.heard: list[Mapping[str, Any]] = []

    def answer(self, message: Mapping[str, Any], by: str) -> list[dict[str, object]]:
        del by
        self.heard.append(message)
        return [dict(event) for event in self.events]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "bayop.db"


@pytest.fixture
def daemon(state: Path) -> Iterator[Daemon]:
    daemon = Daemon()
    with listening(socket_of(state), daemon.answer):
        yield daemon


def test_the_standing_is_shown(
    state: Path, daemon: Daemon, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    assert main(["status", "--file", str(state)]) == 0
    output = capsys.readouterr().out
    shown = ("web", "hold", "power.cap_w 90W", "5000", "90.5 W", "178 us", "11%", "25.0%")
    assert [text for text in shown if text not in output] == []
    assert "web: saved in 7 days: 19.5 W, 0.0033 kWh (0.003 to 0.0036); by 1 switchbacks" in output
    daemon.events = [{**PAUSED, "budget_left": 0.0, "quiet_until": "2026-11-23T10:00:00+00:00", "trouble": "no agent"}]
    assert main(["status", "--file", str(state)]) == 0
    output = capsys.readouterr().out
    for note in ("paused by operator", "the error budget is spent", "until 2026-11-23T10:00:00+00:00", "no agent"):
        assert note in output


def test_whom_a_service_waits_for_is_shown(state: Path, daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
    daemon.events = [{**HOLDS, "waits_for": "web2"}]
    assert main(["status", "--file", str(state)]) == 0
    assert "web: waits for web2: of its group one is searched at a time" in capsys.readouterr().out


def test_what_is_in_effect_is_unknown_where_nobody_knows_it(
    state: Path, daemon: Daemon, capsys: pytest.CaptureFixture[str]
) -> None:
    for restored, said in ((True, "default"), (False, "unknown")):
        daemon.events = [{**HOLDS, "doing": "trouble", "setting": None, "restored": restored, "saved": None}]
        assert main(["status", "--file", str(state)]) == 0
        assert said in capsys.readouterr().out


def test_a_window_of_another_setting_is_not_shown_beside_the_one_in_effect(
    state: Path, daemon: Daemon, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    daemon.events = [{**HOLDS, "current": False}]
    assert main(["status", "--file", str(state)]) == 0
    output = capsys.readouterr().out
    assert "5000" in output, "the load is nobody's setting"
    assert [shown for shown in ("90.5 W", "178 us", "11%") if shown in output] == []


@pytest.mark.parametrize("verb", ["status", "pause", "resume", "reload", "trigger web", "forget web --yes"])
@pytest.mark.parametrize("folder", [".", "/", ".."])
def test_a_folder_is_no_state(verb: str, folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*verb.split(), "--file", folder]) == 2
    assert f"error: {folder} is a folder; a state must be a file" in capsys.readouterr().err


def test_a_file_that_is_no_toml_or_is_gone_keeps_nobody_from_pausing(state: Path, daemon: Daemon) -> None:
    daemon.events = [PAUSED]
    state.touch()
    file = state.with_suffix(".toml")
    file.write_text("[service.web\n", encoding="utf-8")
    assert main(["pause", "--file", str(file)]) == 0
    file.unlink()
    assert main(["pause", "--file", str(file)]) == 0
    assert daemon.heard == [{"verb": "pause"}] * 2


def test_a_pause_that_is_not_known_to_be_one_is_a_drift(
    state: Path, daemon: Daemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.events = [PAUSED]
    assert main(["pause", "web", "--file", str(state)]) == 0
    for event in ({**PAUSED, "restored": False}, HOLDS):
        daemon.events = [event]
        assert main(["pause", "--file", str(state)]) == 3
        assert "its machine could not be put back yet" in capsys.readouterr().err
    assert daemon.heard == [{"verb": "pause", "service": "web"}, {"verb": "pause"}, {"verb": "pause"}]


def test_what_a_stop_file_keeps_paused_is_not_resumed(state: Path, daemon: Daemon) -> None:
    assert main(["resume", "--file", str(state)]) == 0
    daemon.events = [{**PAUSED, "paused_by": ["stop file"]}]
    assert main(["resume", "--file", str(state)]) == 1


def test_nothing_is_forgotten_that_nobody_has_confirmed(
    state: Path, daemon: Daemon, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False)
    assert main(["forget", "web", "--file", str(state)]) == 2
    assert "hint: add --yes" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    for said, code in (("", 1), ("n\n", 1), ("yes please\n", 1), ("y\n", 0)):
        monkeypatch.setattr("sys.stdin.readline", lambda said=said: said)
        assert main(["forget", "web", "--file", str(state)]) == code
    assert daemon.heard == [{"verb": "forget", "service": "web"}]


def test_what_a_new_file_has_changed_is_listed(state: Path, daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
    daemon.events = [{"event": "reloaded", "begun": ["db"], "ended": [], "unchanged": ["web", "cache"]}]
    assert main(["reload", "--file", str(state)]) == 0
    assert capsys.readouterr().out.splitlines() == ["begun      db", "ended      none", "unchanged  web, cache"]


def test_the_file_names_the_state(state: Path, daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
    file = state.with_suffix(".toml")
    file.write_text("nonsense = 1\n", encoding="utf-8")
    assert main(["trigger", "web", "--file", str(file)]) == 0
    assert daemon.heard == [{"verb": "trigger", "service": "web"}]
    assert main(["trigger", "--file", str(file)]) == 2
    assert main(["status", "--file", str(file), "--agent", "unix:/a"]) == 2
    assert "one of both must be asked" in capsys.readouterr().err
    file.write_text('state = "elsewhere.db"\n', encoding="utf-8")
    assert main(["pause", "--file", str(file)]) == 4
    assert "hint: start it, or name the bayop.toml" in capsys.readouterr().err
