"""`bayop knobs` without an agent; with one, it is tested end to end."""

from __future__ import annotations

import json

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
    for entry in _core.knob_catalogue():
        printed = page([entry])
        for key, value in entry.items():
            texts = value if isinstance(value, list) else [value] if key != "safest" else []
            assert all(str(text) in printed for text in texts if text is not None), key


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--markdown", "--json"], "--markdown: the reference page is about the catalogue alone"),
        (["--agent-ca", "x"], "--agent-ca: only an agent has this flag"),
        (["--agent", "web1"], "an agent's address is a Unix socket or an https host, but got 'web1'"),
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
