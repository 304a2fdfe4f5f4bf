from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from bayop.events.shape import COUNT, NUMBER, TEXT, Event, each, maybe, record, schema

TRIAL = Event("trial", "A trial.", {"trial": COUNT, "cut_short": maybe(TEXT)}, {"qps": NUMBER})
MORE = Event("window", "A window.", {"on": each(TEXT)}, more=NUMBER)
VALIDATOR = Draft202012Validator(schema("tune", [TRIAL, MORE]))


@pytest.mark.parametrize(
    "line",
    [
        {"event": "trial", "trial": 1, "cut_short": None},
        {"event": "trial", "trial": 1, "cut_short": "breach", "qps": 4.0},
        {"event": "window", "on": ["a"], "p99_us": 3},
    ],
)
def test_what_is_declared_is_valid(line: dict[str, object]) -> None:
    VALIDATOR.validate(line)


@pytest.mark.parametrize(
    "line",
    [
        {"trial": 1, "cut_short": None},
        {"event": "trail", "trial": 1, "cut_short": None},
        {"event": "trial", "trial": 1},
        {"event": "trial", "trial": -1, "cut_short": None},
        {"event": "window", "on": ["a"], "p99_us": "3"},
    ],
)
def test_anything_else_is_not(line: dict[str, object]) -> None:
    assert not VALIDATOR.is_valid(line)


def test_a_record_has_its_fields_and_room_for_others() -> None:
    assert record({"a": TEXT}, {"b": TEXT}) == {
        "type": "object",
        "properties": {"a": TEXT, "b": TEXT},
        "required": ["a"],
    }
