"""`bayop knobs` without an agent; with one, it is tested end to end."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bayop import _core
from bayop.cli import knobs, main
from bayop.cli.knobs.page import page
from bayop.live.agent.messages import Place
from bayop.space import Steps


def test_people_get_a_table_with_every_knob(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["knobs"]) == 0
    printed = capsys.readouterr().out
    assert all(entry["id"] in printed for entry in _core.knob_catalogue())


def test_programs_get_the_whole_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["knobs", "--json"]) == 0
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert printed == [{"event": "knob", **entry} for entry in _core.knob_catalogue()]


def test_the_page_says_everything_that_the_catalogue_says() -> None:
    printed = page(_core.knob_catalogue(), _core.driver_rules())
    said = [{**entry, "safest": None} for entry in _core.knob_catalogue()]
    for entry in [*said, *_core.driver_rules()]:
        for key, value in entry.items():
            texts = value if isinstance(value, list) else [value] if isinstance(value, str) else []
            assert all(text in printed for text in texts), key
    assert printed.count("**opt-in**") == sum(entry["opt_in"] for entry in _core.knob_catalogue())


def test_the_committed_page_is_not_stale() -> None:
    file = Path(__file__).resolve().parents[3] / "docs" / "reference" / "knobs.md"
    printed = page(_core.knob_catalogue(), _core.driver_rules())
    assert file.read_text(encoding="utf-8") == printed, f"bayop knobs --markdown > {file}"


def test_places_that_are_alike_share_a_line() -> None:
    def place(at: str, **changes: Any) -> Place:
        return replace(Place(at, Steps(0, 100, 1), None, 50.0, None), **changes)

    queues = [place(f"eth0/rx-{n}") for n in range(6)]
    allowed = place("eth1", allowed=Steps(0, 50, 1))
    unreadable = place("eth2", effective=None, error="the link is down")
    rows = [(first, where) for first, where in knobs._alike([queues[0], allowed, *queues[1:], unreadable])]
    assert rows == [
        (queues[0], "eth0/rx-0, eth0/rx-1, eth0/rx-2 and 3 more"),
        (allowed, "eth1"),
        (unreadable, "eth2"),
    ]
    assert knobs._alike(queues[:4])[0][1] == "eth0/rx-0, eth0/rx-1, eth0/rx-2, eth0/rx-3"


@pytest.mark.parametrize(
    ("allowed", "said"),
    [(None, "none"), (Steps(0, 100, 2), "all"), (Steps(0, 50, 2), "0us to 50us in steps of 2us")],
)
def test_what_is_allowed_is_said_in_short(allowed: Steps | None, said: str) -> None:
    assert knobs._allowed("nic.rx_usecs", Place("eth0", Steps(0, 100, 2), allowed, 50.0, None)) == said


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--markdown", "--json"], "--markdown and --json were both given"),
        (["--agent-ca", "x"], "--agent-ca is for an agent, and none is named"),
        (["--agent", "web1"], "cannot use 'web1': an agent's address must be a Unix socket or an https host (--agent)"),
        (["--agent", "https://web1"], "an https agent must be reached with mutual TLS"),
        (
            ["--agent", "https://web1", "--agent-ca", "x"],
            "--agent-cert is missing; mutual TLS must have --agent-cert, --agent-key and --agent-ca",
        ),
        (["--agent", "unix:/nowhere"], "no agent listens at unix:/nowhere"),
    ],
)
def test_bad_usage(capsys: pytest.CaptureFixture[str], more: list[str], said: str) -> None:
    assert main(["knobs", *more]) == (4 if "nowhere" in more[-1] else 2)
    captured = capsys.readouterr()
    assert not captured.out or json.loads(captured.out)["event"] == "error"
    assert said in captured.err
    assert captured.err.splitlines()[1:] == [] or captured.err.splitlines()[1].startswith("hint: ")
