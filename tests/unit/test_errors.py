from __future__ import annotations

import json
from pathlib import Path

import pytest

from bayop.errors import BayopError, DriftError, InputError, UnsupportedError, as_ours, reason, unreadable, unwritable


def test_a_message_says_what_is_wrong_then_the_rule_then_the_place() -> None:
    error = InputError("a study must be a table", wrong="nope.csv is a folder", place="--data", hint="try another")
    assert str(error) == "nope.csv is a folder; a study must be a table (--data)"
    assert error.hint == "try another"


def test_a_value_that_can_not_be_used_comes_before_its_rule() -> None:
    assert str(InputError("a load must be positive", value=-3, place="--load")) == (
        "cannot use -3: a load must be positive (--load)"
    )


def test_what_is_wrong_may_say_it_all() -> None:
    assert str(BayopError(wrong="the agent has gone")) == "the agent has gone"


def test_a_place_is_added_where_it_is_known_and_never_overwritten() -> None:
    error = InputError("a load must be positive", value=-3, hint="h").at("--load")
    assert isinstance(error, InputError)
    assert (error.place, error.value, error.hint) == ("--load", -3, "h")
    assert error.at("elsewhere").place == "--load"
    assert error.but(place="elsewhere").place == "elsewhere"


@pytest.mark.parametrize(
    ("kind", "exit_code"), [(BayopError, 1), (InputError, 2), (DriftError, 3), (UnsupportedError, 4)]
)
def test_exit_codes_are_those_of_the_protocol(kind: type[BayopError], exit_code: int) -> None:
    assert kind(wrong="it broke").exit_code == exit_code
    assert kind(wrong="it broke").to_json()["exit_code"] == exit_code


def test_an_error_is_an_event_for_programs() -> None:
    error = InputError("a load must be positive", value=-3, place="--load", hint="try 600000")
    assert json.loads(json.dumps(error.to_json())) == {
        "event": "error",
        "kind": "input",
        "message": "cannot use -3: a load must be positive (--load)",
        "rule": "a load must be positive",
        "value": "-3",
        "place": "--load",
        "hint": "try 600000",
        "exit_code": 2,
    }


def test_any_error_is_one_of_ours() -> None:
    ours = InputError(wrong="it broke", hint="mend it")
    assert as_ours(ours) is ours
    assert str(as_ours(KeyError("port"))) == "KeyError: 'port'"


def test_a_file_that_is_missing_is_named_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        (tmp_path / "nope.csv").read_text()
    assert str(unreadable("nope.csv", caught.value)) == "cannot read nope.csv: no such file"


def test_a_file_that_is_no_text_or_can_not_be_written_is_named_with_the_reason() -> None:
    with pytest.raises(UnicodeError) as caught:
        b"\xff".decode()
    assert str(unreadable("a.csv", caught.value, place="--data")) == (
        "cannot read a.csv: it is not text in UTF-8 (--data)"
    )
    assert str(unwritable("out", OSError(28, "x"))) == "cannot write out: no space left on device"


@pytest.mark.parametrize(
    ("said", "shown"),
    [("No answer", "no answer"), ("A line", "a line"), ("JSON is malformed", "JSON is malformed"), ("X", "x")],
)
def test_a_reason_goes_on_in_a_sentence_unless_it_begins_with_a_name(said: str, shown: str) -> None:
    assert reason(ValueError(said)) == shown
