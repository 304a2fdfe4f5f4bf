"""An operator's word to `bayop run` with the real agent: status, pause, resume, trigger, reload and forget."""

from __future__ import annotations

import json
import signal
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.end_to_end.test_run import Run, running, written
from tests.support.agents import AgentProcess, Machine
from tests.support.patience import eventually
from tests.support.schemas import closed
from tests.support.services import Clients, service

from bayop.cli import main
from bayop.events import ERROR, EVENTS, schema

# Whether seconds are kept shows on a machine that does nothing else.
pytestmark = pytest.mark.alone


@pytest.fixture
def file(tmp_path: Path, agent: AgentProcess, machine: Machine) -> Path:  # noqa: ARG001 -- the agent needs a machine
    return written(tmp_path, service(agent, Clients(tmp_path / "clients")))


Verb = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def bayop(file: Path, capsys: pytest.CaptureFixture[str]) -> Verb:
    """What a verb prints for programs."""

    def bayop(*words: str, code: int = 0) -> list[dict[str, Any]]:
        assert main([*words, "--file", str(file), "--json"]) == code
        events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        validator = Draft202012Validator(closed(schema(words[0], [*EVENTS[words[0]], ERROR])))
        for event in events:
            validator.validate(event)
        return events

    return bayop


def holds(run: Run, machine: Machine) -> None:
    """Waits until a search has ended and its result is held."""
    run.until("search")
    assert eventually(lambda: machine.cap_w == 90, within_s=2)


def test_what_is_paused_stays_so_after_kill_9_until_it_is_resumed(file: Path, machine: Machine, bayop: Verb) -> None:
    with running(file) as run:
        holds(run, machine)
        (held,) = bayop("status")
        assert (held["doing"], held["setting"], held["restored"]) == ("hold", {"power.cap_w": 90}, False)
        (paused,) = bayop("pause", "web")
        assert machine.cap_w == 120, "it is put back when the verb ends"
        assert (paused["doing"], paused["paused_by"], paused["restored"]) == ("paused", ["operator"], True)
        assert "uid" in run.until("paused")["by"]
        run.end(signal.SIGKILL)
    address = file.with_name("bayop.db.sock")
    assert stat.S_ISSOCK(address.stat().st_mode), "nobody has removed it"
    (failed,) = bayop("status", code=4)
    assert "no bayop run answers" in failed["message"]
    (file.parent / "stop").touch()
    with running(file) as run:
        run.until("start")
        assert eventually(lambda: bayop("status")[0]["doing"] == "paused", within_s=5)
        assert bayop("resume", code=1)[0]["paused_by"] == ["stop file"]
        (file.parent / "stop").unlink()
        run.until("watching")
        assert bayop("status")[0]["paused_by"] == []
        assert run.end() == 0
    assert not address.exists()


def test_a_search_is_asked_for_what_was_learned_is_forgotten_and_the_file_is_read_anew(
    file: Path, machine: Machine, bayop: Verb
) -> None:
    with running(file) as run:
        holds(run, machine)
        first = run.until("search")
        bayop("trigger", "web")
        again = run.until("search", count=2)
        assert again["reason"] == "asked for"
        assert again["trials"] < first["trials"], "what was learned"
        bayop("forget", "web", "--yes")
        assert run.until("forgotten")["observations"] >= first["trials"]
        run.until("watching", count=2)
        (reloaded,) = bayop("reload")
        assert reloaded["unchanged"] == ["web"]
        file.write_text("nonsense = 1\n", encoding="utf-8")
        (refused,) = bayop("reload", code=2)
        assert "there is no key 'nonsense'" in refused["message"]
        (unknown,) = bayop("pause", "wbe", code=2)
        assert unknown["hint"] == "did you mean web?"
        assert run.end() == 0


def test_what_a_killed_one_has_left_is_unknown_and_is_put_back_whatever_has_become_of_the_file(
    file: Path, machine: Machine, bayop: Verb, capsys: pytest.CaptureFixture[str]
) -> None:
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("lease_s = 4", "lease_s = 60"), encoding="utf-8")
    with running(file) as run:
        holds(run, machine)
        run.end(signal.SIGKILL)
    with running(file) as run:
        assert "holds the agent's lease" in run.until("trouble")["message"]
        (left,) = bayop("status")
        assert (left["doing"], left["setting"], left["restored"]) == ("trouble", None, False)
        assert main(["status", "--file", str(file)]) == 0
        assert "unknown" in capsys.readouterr().out
        assert machine.cap_w == 90
        file.write_text(f"{text}broken\n", encoding="utf-8")
        (paused,) = bayop("pause")
        assert (paused["doing"], paused["restored"], machine.cap_w) == ("paused", True, 120)
        file.unlink()
        assert bayop("resume")[0]["doing"] != "paused"
        file.write_text(text, encoding="utf-8")
        assert run.end() == 0
