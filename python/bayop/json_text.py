"""JSON that somebody else has written, a program, a server or a file: one object that can be worked with, or an error.

JSON allows more than that: any depth, numbers that no float holds, halves of characters. Python's reader adds NaN and
infinities. All of it would fail later, where nobody expects it. What has a declared type is read by `decoder`.
"""

from __future__ import annotations

import json
import math
import threading
from typing import Annotated, Any, Final, TypeVar

import msgspec

from bayop.errors import InputError, reason

T = TypeVar("T")

Count = Annotated[int, msgspec.Meta(ge=0)]
"""A field of a declared type that counts something."""

DEEPEST: Final = 32
"""How deep lists and objects may stand in each other; what BayOp reads has less than ten levels."""

_SHOWN: Final = 80
_ONE_AT_A_TIME: Final = threading.Lock()
_DECODERS: Final[dict[type, Any]] = {}


def decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """What reads JSON into a declared type.

    msgspec works out a type when it first meets it, and crashes (0.22) when another thread uses the type meanwhile. So
    here it meets one at a time, before anybody uses it.
    """
    with _ONE_AT_A_TIME:
        if kind not in _DECODERS:
            _DECODERS[kind] = msgspec.json.Decoder(kind)
        made: msgspec.json.Decoder[T] = _DECODERS[kind]
        return made


def parse_object(
    text: str | bytes, *, rule: str = "it must be one JSON object", place: str | None = None, hint: str | None = None
) -> dict[str, Any]:
    """The object that a JSON text holds. Its numbers are finite, its text is Unicode.

    Args:
        text: JSON; as bytes, in UTF-8 (RFC 8259, section 8.1).
        rule: What must hold, in the words of whoever reads it.
        place: Where it came from.
        hint: What to do about it.

    Raises:
        InputError: it is anything else.

    Example:
        >>> from bayop.json_text import parse_object
        >>> parse_object('{"p99_us": 310.5}')
        {'p99_us': 310.5}
        >>> parse_object('{"p99_us": 1e999}')
        Traceback (most recent call last):
        bayop.errors.InputError: cannot read '{"p99_us": 1e999}': a number is not finite; it must be one JSON object
    """
    begin = text[:_SHOWN].decode("utf-8", "replace") if isinstance(text, bytes) else text[:_SHOWN]
    try:
        value = json.loads(text.decode() if isinstance(text, bytes) else text)
        if isinstance(value, dict):
            _check(value, DEEPEST)
            return value
        why = f"that is a {type(value).__name__}"
    except (json.JSONDecodeError, UnicodeError) as error:
        why = reason(error)
    except (ValueError, OverflowError):  # of integers: Python reads some thousand digits, a float holds 308
        why = "a number is not finite"
    except RecursionError:
        why = f"lists and objects stand more than {DEEPEST} deep in each other"
    raise InputError(rule, wrong=f"cannot read {begin!r}: {why}", value=begin, place=place, hint=hint)


def _check(value: object, levels: int) -> None:
    """Raises what Python's reader raises: RecursionError, UnicodeError, or for numbers ValueError and OverflowError."""
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, int | float):
        if not math.isfinite(value):
            raise ValueError(value)
    elif isinstance(value, dict | list):
        if not levels:
            raise RecursionError
        for inner in value:
            _check(inner, levels - 1)
        if isinstance(value, dict):
            for inner in value.values():
                _check(inner, levels - 1)
