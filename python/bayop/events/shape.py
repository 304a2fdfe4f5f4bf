"""The words in which events are declared, and the JSON Schema that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

Shape: TypeAlias = Mapping[str, Any]
"""A JSON Schema of one value."""

TEXT: Final[Shape] = {"type": "string"}
NUMBER: Final[Shape] = {"type": "number"}
COUNT: Final[Shape] = {"type": "integer", "minimum": 0}
FLAG: Final[Shape] = {"type": "boolean"}


def maybe(shape: Shape) -> Shape:
    """The shape, or null."""
    return {"anyOf": [shape, {"type": "null"}]}


def each(shape: Shape) -> Shape:
    """A list of them."""
    return {"type": "array", "items": shape}


def by_name(shape: Shape) -> Shape:
    """One for every name, of which there may be any."""
    return {"type": "object", "additionalProperties": shape}


def one_of(*values: str | None) -> Shape:
    """One of some words."""
    return {"enum": list(values)}


def record(fields: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None) -> Shape:
    """An object with these fields; a later version may add some."""
    return {"type": "object", "properties": {**fields, **(optional or {})}, "required": list(fields)}


VALUE: Final[Shape] = {"type": ["number", "string"]}
"""A knob's value, in the unit of its name."""

SETTING: Final = by_name(VALUE)
"""A value for every knob."""

QUANTITIES: Final = by_name(NUMBER)
"""What was measured, by names that carry their units."""


@dataclass(frozen=True, slots=True)
class Event:
    """One kind of line that a verb prints.

    Attributes:
        name: The value of its field `event`.
        says: When it comes and what it tells, as a sentence.
        fields: Its other fields.
        optional: Fields that are not always there.
        more: What fields of any other name hold; None where there are none.
    """

    name: str
    says: str
    fields: Mapping[str, Shape]
    optional: Mapping[str, Shape] = field(default_factory=dict)
    more: Shape | None = None

    def schema(self) -> Shape:
        """As a JSON Schema."""
        plain = dict(record({"event": {"const": self.name}, **self.fields}, self.optional))
        more = {} if self.more is None else {"additionalProperties": self.more}
        return plain | {"title": self.name, "description": self.says} | more


def schema(verb: str, events: Sequence[Event]) -> dict[str, Any]:
    """The JSON Schema of every line that a verb prints under `--json`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"bayop {verb} --json",
        "description": "One line of its standard output.",
        "oneOf": [event.schema() for event in events],
    }
