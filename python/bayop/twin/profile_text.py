"""Changes numbers in the text of a profile and leaves everything else as it was, comments above all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from bayop.errors import InputError

_TABLE: Final = re.compile(r"\s*\[(?P<key>[^\[\]]+)\]\s*(#.*)?")
_ARRAY_OF_TABLES: Final = re.compile(r"\s*\[\[(?P<key>[^\[\]]+)\]\]\s*(#.*)?")
_NUMBER: Final = re.compile(
    r"(?P<head>\s*(?P<key>[A-Za-z0-9_]+)\s*=\s*)(?P<value>[+-]?[0-9][0-9_.eE+-]*)(?P<rest>\s*(#.*)?)"
)


def with_numbers(text: str, values: Mapping[str, float]) -> str:
    """The text with some numbers replaced.

    Args:
        text: TOML with one `key = value` a line, tables as `[machine.nic]`.
        values: New numbers by their dotted keys, such as `machine.idle_states.2.wake_us`.

    Raises:
        InputError: a key has no line of its own.
    """
    missing = set(values)
    lines = []
    for line, key, match in _numbered(text):
        if match is not None and key in values:
            missing.discard(key)
            lines.append(f"{match['head']}{_spelled(values[key])}{match['rest']}")
        else:
            lines.append(line)
    if missing:
        raise InputError(
            "a number that is replaced must have a line of its own in the profile", value=", ".join(sorted(missing))
        )
    return "\n".join(lines) + "\n"


def _numbered(text: str) -> Iterator[tuple[str, str, re.Match[str] | None]]:
    """Every line, with its dotted key and its parts when it sets a number."""
    table, counts = "", Counter[str]()
    for line in text.splitlines():
        if array := _ARRAY_OF_TABLES.fullmatch(line):
            name = array["key"].strip()
            table = f"{name}.{counts[name]}."
            counts[name] += 1
        elif header := _TABLE.fullmatch(line):
            table = f"{header['key'].strip()}."
        match = _NUMBER.fullmatch(line)
        yield line, "" if match is None else table + match["key"], match


def _spelled(value: float) -> str:
    """Five significant digits: a fit knows no more."""
    return repr(float(f"{value:.5g}"))
