"""Outcomes of benchmarks as CSV files: one row for each, one column for each field of its dataclass."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, TypeVar, get_args, get_type_hints

from bayop.errors import InputError, unreadable

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Row = TypeVar("Row", bound=DataclassInstance)
else:
    Row = TypeVar("Row")


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Writes rows, at least one. None is an empty cell, and floats have six digits."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(rows[0])])
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in asdict(row).items()} for row in rows)


def read_rows(path: Path, kind: type[Row]) -> list[Row]:
    """The rows of a file that `write_rows` made of this kind.

    Raises:
        InputError: it can't be read, or is another file.
    """
    hints = get_type_hints(kind)
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = [{name: _value(text, hints[name]) for name, text in row.items()} for row in csv.DictReader(file)]
            return [kind(**row) for row in rows]
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from error
    except (KeyError, TypeError, ValueError) as error:
        columns = ", ".join(field.name for field in fields(kind))
        raise InputError(f"its columns must be {columns}", wrong=f"{path} has other rows") from error


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return int(value)
    return f"{value:.6g}" if isinstance(value, float) else value


def _value(text: str, kind: type) -> object:
    kinds = [k for k in get_args(kind) if k is not NoneType] or [kind]
    if len(kinds) < len(get_args(kind)) and not text:
        return None
    return bool(int(text)) if kinds[0] is bool else kinds[0](text)
