"""`bayop knobs` without an agent; with one, it is tested end to end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bayop import _core
from bayop.cli import knobs, main
from bayop.cli.knobs.page import page
from bayop.live.agent.messages import Cause, Domain, Numbers, Place


def steps(high: float, step: float) -> Domain:
    return Domain(Numbers(0, high, step, ()))


def test_people_get_a_table_with_every_knob(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["knobs"]) == 0
    output = capsys.readouterr().out
    assert all(entry["id"] in output for entry in _core.knob_catalogue())


def test_programs_get_the_whole_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["knobs", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == [{"event": "knob", **entry} for entry in _core.knob_catalogue()]


def test_the_page_says_everything_that_the_catalogue_says() -> None:
    printed = page(_core.knob_catalogue(), _core.driver_rules())
    entries = [{**entry, "safest": None} for entry in _core.knob_catalogue()]
    for entry in [*entries, *_core.driver_rules()]:
        for key, value in entry.items():
            texts = value if isinstance(value, list) else [value] if isinstance(value, str) else []
            assert all(text in printed for text in texts), key
    assert printed.count("**opt-in**") == sum(entry["opt_in"] for entry in _core.knob_catalogue())


def test_the_committed_page_is_not_stale() -> None:
    file = Path(__file__).resolve().parents[3] / "docs" / "reference" / "knobs.md"
    text = page(_core.knob_catalogue(), _core.driver_rules())
    assert file.read_text(encoding="utf-8") == text, f"bayop knobs --markdown > {file}"


def test_places_that_are_alike_share_a_line() -> None:
    def place(at: str, **changes: Any) -> Place:
        return replace(Place(at, steps(100, 1), None, 50.0, None), **changes)

    queues = [place(f"eth0/rx-{n}") for n in range(6)]
    allowed = place("eth1", allowed=steps(50, 1))
    unreadable = place("eth2", effective=None, error=Cause("the link is down", None, None, None, None))
    rows = [(first, where) for first, where in knobs._alike([queues[0], allowed, *queues[1:], unreadable])]
    assert rows == [
        (queues[0], "eth0/rx-0, eth0/rx-1, eth0/rx-2 and 3 more"),
        (allowed, "eth1"),
        (unreadable, "eth2"),
    ]
    assert knobs._alike(queues[:4])[0][1] == "eth0/rx-0, eth0/rx-1, eth0/rx-2, eth0/rx-3"


@pytest.mark.parametrize(
    ("allowed", "text"),
    [(None, "none"), (steps(100, 2), "all"), (steps(50, 2), "0us to 50us in steps of 2us")],
)
def test_what_is_allowed_is_said_in_short(allowed: Domain | None, text: str) -> None:
    assert knobs._allowed("nic.rx_usecs", Place("eth0", steps(100, 2), allowed, 50.0, None)) == text


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--markdown", "--json"], "--markdown and --json were both given"),
        (["--agent-ca", "x"], "--agent-ca is for an agent, and none is named"),
        (["--agent", "web1"], "cannot use 'web1': an agent's address must be a Unix socket or an https host (--agent)"),
        (["--agent", "https://web1"], "--agent-cert is missing; mutual TLS must have --agent-cert, --agent-key and"),
        (
            ["--agent", "https://web1", "--agent-ca", "x"],
            "--agent-cert is missing; mutual TLS must have --agent-cert, --agent-key and --agent-ca",
        ),
        (["--agent", "unix:/nowhere"], "no agent listens at unix:/nowhere"),
    ],
)
def test_bad_usage(capsys: pytest.CaptureFixture[str], more: list[str], message: str) -> None:
    assert main(["knobs", *more]) == (4 if "nowhere" in more[-1] else 2)
    captured = capsys.readouterr()
    assert not captured.out or json.loads(captured.out)["event"] == "error"
    assert message in captured.err
    assert captured.err.splitlines()[1:] == [] or captured.err.splitlines()[1].startswith("hint: ")
