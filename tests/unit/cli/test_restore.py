"""`bayop restore` with an agent that refuses; with a real one it is tested end to end."""

from __future__ import annotations

import json

import pytest

from bayop.cli import main
from bayop.cli.flags import agent as agent_flags
from bayop.live.agent.client import AgentClient
from bayop.live.agent.messages import Latched, Released, Status

STATUS = Status("0.1.0", "apply", None, kept=False, applied_by=None, held=(), hold=None, damage=None)


class Stub:
    """An agent that answers with what it is told."""

    def __init__(self, restored: Released) -> None:
        self._restored = restored

    def status(self) -> Status:
        return STATUS

    def restore(self) -> Released:
        return self._restored


def answered(monkeypatch: pytest.MonkeyPatch, restored: Released, *more: str) -> int:
    stub = Stub(restored)
    monkeypatch.setattr(agent_flags, "client_of", lambda *_: stub)
    return main(["restore", *more])


def test_what_could_not_be_restored_is_drift(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answered(monkeypatch, Released(("a@x",), (Latched("b@y", "device gone"),), ("c@z",))) == 3
    captured = capsys.readouterr()
    assert "restored  a@x" in captured.out
    assert "left      c@z" in captured.out
    assert "b@y: device gone" in captured.err


def test_nothing_held_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert answered(monkeypatch, Released((), (), ())) == 0
    assert "Nothing was held" in capsys.readouterr().out


def test_programs_get_one_event(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert answered(monkeypatch, Released(("a@x",), (), ()), "--json") == 0
    (event,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert event == {"event": "restored", "restored": ["a@x"], "stood_down": [], "latched": {}, "lease_ended": None}


def test_an_agent_s_client_has_what_the_verb_asks() -> None:
    assert {"status", "restore"} <= set(dir(AgentClient))
