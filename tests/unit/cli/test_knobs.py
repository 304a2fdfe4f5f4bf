"""`bayop knobs` without an agent; with one, it is tested end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bayop import _core
from bayop.cli import main
from bayop.cli.knobs_page import page


def test_people_get_a_table_with_every_knob(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["knobs"]) == 0
    printed = capsys.readouterr().out
    assert all(entry["id"] in printed for entry in _core.knob_catalogue())


def test_programs_get_the_whole_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["knobs", "--json"]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == _core.knob_catalogue()


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


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--markdown", "--json"], "--markdown: the reference page is about the catalogue alone"),
        (["--agent-ca", "x"], "--agent-ca: only an agent has this flag"),
        (["--agent", "web1"], "--agent: an agent's address is a Unix socket or an https host, but got 'web1'"),
        (["--agent", "https://web1"], "an https agent is reached with mutual TLS"),
        (["--agent", "https://web1", "--agent-ca", "x"], "mutual TLS takes all of"),
        (["--agent", "unix:/nowhere"], "unix:/nowhere: an agent listens at its address"),
    ],
)
def test_bad_usage(capsys: pytest.CaptureFixture[str], more: list[str], said: str) -> None:
    assert main(["knobs", *more]) == (4 if "nowhere" in more[-1] else 2)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert captured.err.splitlines()[1:] == [] or captured.err.splitlines()[1].startswith("hint: ")
