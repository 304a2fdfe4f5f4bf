from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from bayop.cli import main
from bayop.cli.commands import all_commands
from bayop.cli.help.events_page import file_name, page
from bayop.errors import InputError
from bayop.events import ERROR, EVENTS, schema

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "reference" / "events"


def test_every_verb_that_has_json_declares_its_events() -> None:
    with_json = {
        " ".join(command.words)
        for command in all_commands()
        if any("--json" in flag.option_strings for flag in command.flags())
    }
    assert with_json == set(EVENTS)


@pytest.mark.parametrize("verb", EVENTS)
def test_the_published_schema_is_that_of_the_declaration(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", *verb.split(), "--events"]) == 0
    output = capsys.readouterr().out
    Draft202012Validator.check_schema(json.loads(output))
    published = FOLDER / file_name(verb)
    assert published.exists(), f"bayop help {verb} --events > {published}"
    assert published.read_text(encoding="utf-8") == output, f"bayop help {verb} --events > {published}"


def test_nothing_else_is_published() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {file_name(verb) for verb in EVENTS}


def test_the_page_is_that_of_the_declaration() -> None:
    published = FOLDER.with_suffix(".md").read_text(encoding="utf-8")
    assert published == page(), "bayop help --events > docs/reference/events.md"


def test_events_of_a_verb_have_names_of_their_own() -> None:
    for verb, events in EVENTS.items():
        names = [event.name for event in (*events, ERROR)]
        assert len(set(names)) == len(names), verb


def test_an_error_is_an_event() -> None:
    error = InputError("it must be a number", value="x", place="--load", hint="600k").to_json()
    Draft202012Validator(schema("tune", [ERROR])).validate(error)
