"""TOML in which every mistake has a file and a line."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from copy import copy
from pathlib import Path
from typing import Any, Final, Self

from bayop.errors import InputError, guess, reason
from bayop.files import read_text

Reader = Callable[[object], Any]
"""Turns a value into what it means, or raises an InputError."""

_TABLE: Final = re.compile(r"\s*\[\s*(?P<name>[A-Za-z0-9_.-]+)\s*\]\s*(#.*)?")
_KEY: Final = re.compile(r"\s*(?P<quote>[\"']?)(?P<key>[^\"'=]+?)(?P=quote)\s*=")
_NAMES: Final = re.compile(r"\((?:'[^']*'(?:, |,)?)+\)")
"""A table's name as Python's reader tells it: `('service', 'web')`."""
_NAME: Final = re.compile("'([^']*)'")
_OPAQUE: Final = re.compile(
    r'"""(?:\\.|[^\\])*?(?:"{3,5}|\Z)'
    r"|\'{3}.*?(?:\'{3,5}|\Z)"
    r'|"(?:\\.|[^"\\\n])*+"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*+",
    re.DOTALL,
)
"""What is no key but where it is quoted: texts and comments; one that does not end goes on to the end of its line."""
_MOST_PARTS: Final = 64
_LONG_KEY: Final = re.compile(rf"(?<![\w\"-])(?:[\w\"-]++[ \t]*+\.[ \t]*+){{{_MOST_PARTS}}}")
_MOST_BYTES: Final = 2**20
_POSITION: Final = re.compile(r"(?P<rule>.*) \(at line (?P<line>\d+), column \d+\)", re.DOTALL)


class TomlFile:
    """A file with one key a line.

    Args:
        path: The file.

    Raises:
        InputError: it can't be read, or is not TOML.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._outer: tuple[str, ...] = ()
        self._text = read_text(path)
        self._check_size()
        try:
            self._data: dict[str, Any] = tomllib.loads(self._text)
        except (ValueError, RecursionError, MemoryError) as error:  # also a number or a nesting that Python gives up on
            match = _POSITION.fullmatch(str(error))
            line = match["line"] if match else len(self._text.splitlines())
            rule = _NAMES.sub(
                lambda names: ".".join(_NAME.findall(names[0])), match["rule"] if match else reason(error)
            )
            raise InputError(wrong=f"the file is not TOML: {rule}", place=f"{path}:{line}") from error

    def _check_size(self) -> None:
        """Refuses what Python's reader takes without end for: it keeps each beginning of a dotted key.

        Raises:
            InputError: the file is too long, or a key or the name of a table has too many parts.
        """
        if len(self._text) > _MOST_BYTES:
            raise InputError(
                f"a file of settings must have at most {_MOST_BYTES >> 20} MiB",
                wrong=f"{self._path} is longer",
                place=str(self._path),
            )
        bare = _OPAQUE.sub(lambda found: '"' + "\n" * found[0].count("\n"), self._text)
        if long := _LONG_KEY.search(bare):
            line = bare.count("\n", 0, long.start()) + 1
            raise InputError(
                f"a key must have at most {_MOST_PARTS} parts",
                wrong="one has more",
                place=f"{self._path}:{line}",
            )

    def place(self, table: str, key: str | None = None) -> str:
        """Where a key stands, as `live.toml:7`; without a key, where its table begins, or the first of those in it."""
        table = ".".join((*self._outer, *filter(None, [table])))
        current, within = "", None
        for number, line in enumerate(self._text.splitlines(), start=1):
            if header := _TABLE.fullmatch(line):
                current = header["name"]
                if key is None and current == table:
                    return f"{self._path}:{number}"
                if key is None and within is None and current.startswith(f"{table}."):
                    within = number
            elif current == table and (match := _KEY.match(line)) and match["key"].strip() == key:
                return f"{self._path}:{number}"
        return str(self._path) if within is None else f"{self._path}:{within}"

    def below(self, table: str) -> Self:
        """A table of the file as a file of its own, whose tables are those within it: `[web.window]` is `[window]`."""
        inner = copy(self)
        vars(inner).update(_data=self.table(table), _outer=(*self._outer, table))
        return inner

    def check_tables(self, tables: Mapping[str, object], keys: Mapping[str, Reader]) -> None:
        """Refuses tables, and keys outside of tables, that are unknown.

        Raises:
            InputError: there is one, or one that is a table is a value or the other way round.
        """
        for name, value in self._data.items():
            is_table = isinstance(value, dict)
            if name in (tables if is_table else keys):
                continue
            place = self.place(name) if is_table else self.place("", name)
            if name in tables:
                hint = f"[{'.'.join((*self._outer, name))}]"
                raise InputError(f"{name} must be a table", value=_as_written(value), place=place, hint=hint)
            if name in keys:
                raise InputError(
                    f"{name} must be a value", wrong=f"{name} is a table", place=place, hint=f"{name} = ..."
                )
            raise _unknown(name, [*tables, *keys], place)

    def read(self, table: str, keys: Mapping[str, Reader]) -> dict[str, Any]:
        """The values of a table by their keys; the table "" is the file's own.

        Raises:
            InputError: a key is unknown, or its value is not what it has to be.
        """
        values = {}
        for key, value in self.values(table).items():
            if key not in keys:
                raise _unknown(key, list(keys), self.place(table, key))
            values[key] = self.at(table, key, lambda key=key, value=value: keys[key](value))  # type: ignore[misc]
        return values

    def require(self, table: str, values: Container[str], keys: Iterable[str], rule: str) -> None:
        """Refuses values that lack one of some keys.

        Args:
            table: Where they stand.
            values: What was read there.
            keys: What must be among them.
            rule: That rule in words.

        Raises:
            InputError: one is missing.
        """
        if missing := ", ".join(key for key in keys if key not in values):
            raise InputError(rule, wrong=f"{missing} is missing", place=self.place(table), hint=f"add {missing}")

    def values(self, table: str) -> dict[str, Any]:
        """The values of a table as they are; those of the table "" stand outside of tables."""
        return self.table(table) if table else {k: v for k, v in self._data.items() if not isinstance(v, dict)}

    def table(self, name: str) -> dict[str, Any]:
        """A table as it is; empty when the file has none of that name."""
        table: dict[str, Any] = self._data.get(name, {})
        return table

    def table_names(self) -> list[str]:
        """The names of the tables, in their order."""
        return [name for name, value in self._data.items() if isinstance(value, dict)]

    def at(self, table: str, key: str | None, build: Callable[[], Any]) -> Any:  # noqa: ANN401 -- what `build` gives
        """What `build` gives; its errors get a place in this file."""
        try:
            return build()
        except InputError as error:
            inner = f", {error.place}" if error.place else ""
            place = f"{self.place(table, key)}{inner}"
            raise error.but(place=place, value=_as_written(error.value)) from error


class _Written(str):
    """A value as TOML has it, which errors show as it is."""

    __slots__ = ()
    __repr__ = str.__str__


def _as_written(value: object) -> object:
    """A value as whoever wrote the file would recognise it."""
    return _Written(json.dumps(value, default=str)) if isinstance(value, bool | list | dict) else value


def _unknown(name: str, names: list[str], place: str) -> InputError:
    hint = guess(name, names) or (f"known here: {', '.join(names)}" if names else None)
    return InputError(wrong=f"there is no key {name!r}", value=name, place=place, hint=hint)


def text(value: object) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value:
        raise InputError("it must be a text" + " that is not empty" * (value == ""), value=value)
    return value


def one_of(names: Collection[str], what: str) -> Callable[[object], Any]:
    """A reader of one of some names; `what` is what they are of, for people."""

    def read(value: object) -> Any:  # noqa: ANN401 -- one of the names, which the caller has as a Literal
        if not isinstance(value, str) or value not in names:
            raise InputError(
                wrong=f"{_as_written(value)!r} is no {what}", value=value, hint=f"one of {', '.join(names)}"
            )
        return value

    return read


def flag(value: object) -> bool:
    """`true` or `false`."""
    if not isinstance(value, bool):
        raise InputError("it must be true or false", value=value)
    return value


def number(low: float, high: float) -> Callable[[object], float]:
    """Reads numbers from `low` to `high`."""

    def read(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise InputError(f"it must be a number from {low:g} to {high:g}", value=value)
        return float(value)

    return read


def whole(low: int, high: int) -> Callable[[object], int]:
    """Reads whole numbers from `low` to `high`."""

    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise InputError(f"it must be a whole number from {low} to {high}", value=value)
        return value

    return read
