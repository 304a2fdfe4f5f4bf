"""Changes numbers in the text of a profile and leaves everything else as it was, comments above all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from bayop.errors import InputError

_TABLE: Final = re.compile(r"\s*\[(?P<key>[^\[\]]+)\]\s*(#.*)?")
_ARRAY_OF_TABLES: Final = re.compile(r"\s*\[\[(?P<key>[^\[\]]+)\]\]\s*(#.*)?")
_KEY: Final = re.compile(r"\s*(?P<key>[A-Za-z0-9_.-]+)\s*=.*")
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
    for line, key in _keyed(text):
        match = _NUMBER.fullmatch(line)
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


def lines_of(text: str) -> dict[str, int]:
    """The line, counted from 1, of every dotted key that has one, and of the head of every table that has one."""
    return {key: number for number, (_, key) in enumerate(_keyed(text), start=1) if key}


def _keyed(text: str) -> Iterator[tuple[str, str]]:
    """Every line, with the dotted key that it sets, or the table that it begins; else the key is empty."""
    table, counts = "", Counter[str]()
    for line in text.splitlines():
        if array := _ARRAY_OF_TABLES.fullmatch(line):
            name = array["key"].strip()
            table = f"{name}.{counts[name]}."
            counts[name] += 1
            yield line, table[:-1]
        elif header := _TABLE.fullmatch(line):
            table = f"{header['key'].strip()}."
            yield line, table[:-1]
        else:
            match = _KEY.fullmatch(line)
            yield line, "" if match is None else table + match["key"]


def _spelled(value: float) -> str:
    """Five significant digits: a fit knows no more."""
    return repr(float(f"{value:.5g}"))
