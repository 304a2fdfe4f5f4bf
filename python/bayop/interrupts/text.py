"""Records as lines of text: parsed by the block, and line by line only to say what is wrong with one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayop.errors import InputError
from bayop.interrupts.batch import BadRecordError

if TYPE_CHECKING:
    import polars as pl

_WHOLE: Final = re.compile(rb"\d{1,19}")
_REAL: Final = re.compile(rb"\d{1,15}(\.\d{1,15})?([eE]-\d{1,2})?")
_MOST_WHOLE: Final = 2**63 - 1
_MOST_REAL: Final = 1e15


@dataclass(frozen=True, slots=True)
class Field:
    """One column of the text.

    Attributes:
        name: As the file, or whoever describes it, calls it.
        whole: Whether it holds whole numbers.
        optional: Whether it may be empty.
    """

    name: str
    whole: bool = True
    optional: bool = False


def parse(block: bytes, fields: tuple[Field, ...], separator: str, first_row: int) -> pl.DataFrame:
    """The lines of a block as a table.

    Args:
        block: Whole lines.
        fields: What each line holds.
        separator: What stands between them, one character.
        first_row: The row of the first line, for the error.

    Raises:
        BadRecordError: a line does not hold the fields.
    """
    import polars as pl

    schema = {field.name: pl.Int64() if field.whole else pl.Float64() for field in fields}
    lines = block.count(b"\n") + (not block.endswith(b"\n"))
    reason = "a line is not understood"
    try:
        table = pl.read_csv(block, separator=separator, has_header=False, schema=schema, quote_char=None)
        if table.height == lines and _is_whole(block, fields, separator.encode(), lines) and _is_sound(table, fields):
            return table
    except pl.exceptions.PolarsError as error:
        reason = str(error).partition("\n")[0]
    _find_fault(block, fields, separator.encode(), first_row)
    raise BadRecordError(first_row, None, "records must be lines of numbers", hint=reason)


def _is_whole(block: bytes, fields: tuple[Field, ...], separator: bytes, lines: int) -> bool:
    """Whether no line ends early: what it lacks would be read as empty, which is an error only where nothing may be."""
    return not any(field.optional for field in fields) or block.count(separator) == lines * (len(fields) - 1)


def _is_sound(table: pl.DataFrame, fields: tuple[Field, ...]) -> bool:
    for field in fields:
        column = table[field.name]
        if column.null_count() and not field.optional:
            return False
        # A NaN lies between nothing; the least of an empty column is None.
        if not (int(str(column.min() or 0)) >= 0 if field.whole else column.is_between(0.0, _MOST_REAL).all()):
            return False
    return True


def _find_fault(block: bytes, fields: tuple[Field, ...], separator: bytes, first_row: int) -> None:
    """Raises what is wrong with the first faulty line, if there is one."""
    for row, line in enumerate(block.removesuffix(b"\n").split(b"\n"), first_row):
        cells = line.removesuffix(b"\r").split(separator)
        if len(cells) != len(fields):
            raise BadRecordError(
                row,
                None,
                f"a record of this log must have {len(fields)} fields",
                value=f"{len(cells)} in {excerpt(line)!r}",
            )
        for field, cell in zip(fields, cells, strict=True):
            if not _is_good(field, cell):
                rule = f"{field.name} must be a {'whole ' if field.whole else ''}number, not negative"
                raise BadRecordError(row, field.name, rule, value=excerpt(cell))


def _is_good(field: Field, cell: bytes) -> bool:
    if not cell:
        return field.optional
    if field.whole:
        return _WHOLE.fullmatch(cell) is not None and int(cell) <= _MOST_WHOLE
    return _REAL.fullmatch(cell) is not None


def excerpt(text: bytes) -> str:
    """A little of some bytes, for an error message."""
    return text[:60].decode("ascii", "backslashreplace")


def not_a_log(place: str, line: bytes, hint: str) -> InputError:
    """What is said of a file that is no log."""
    return InputError(
        "an interrupt log must be intlog's text, EbbRT's memory, a CSV file or Parquet",
        value=excerpt(line),
        place=place,
        hint=hint,
    )
