"""Makes a table's cells what its columns declare, or says which cell is not.

All checks are expressions over whole columns, so that ten million trials take seconds; only an error looks at rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import polars as pl

from bayop.errors import InputError, guess
from bayop.slo import IN_ORDER, quantile_of
from bayop.study.schema import LISTING, REQUIRED, Column, column_of, either

Where: TypeAlias = Callable[[int | None, str | None], str]
"""Names a place: the row, counted from 0, and the column, where there are any."""

TIME: Final = pl.Datetime("us", "UTC")
DTYPES: Final = {"text": pl.String(), "integer": pl.Int64(), "number": pl.Float64(), "time": TIME}
_TIME_FORMAT: Final = "%Y-%m-%dT%H:%M:%S%.fZ"
NOUNS: Final = {
    "text": "text",
    "integer": "a whole number",
    "number": "a number",
    "time": "a time such as 2026-11-20T09:30:00Z",
}
_ANOTHER_UNIT: Final = "is the value in another unit than the column's name says?"
# A text is one line: a log, a terminal and a CSV file show it as it is.
_UNPRINTABLE: Final = r"[\x00-\x1f\x7f]"


def at_rows(path: object) -> Where:
    """Places in a table without lines: `sweep.parquet, row 17, column p99_us`; rows count from 1."""

    def where(row: int | None, column: str | None) -> str:
        return _place(path, None if row is None else f"row {row + 1}", column)

    return where


def at_lines(path: object, lines: Sequence[int]) -> Where:
    """Places in a text file; `lines` has the line of every row."""

    def where(row: int | None, column: str | None) -> str:
        return _place(path, f"line {1 if row is None else lines[row]}", column)

    return where


def from_text(texts: pl.DataFrame, columns: Sequence[Column], where: Where) -> pl.DataFrame:
    """Cells of text as what their columns hold; an empty one is null.

    Raises:
        InputError: a cell is something else.
    """
    stripped = texts.select(pl.all().str.strip_chars()).select(
        pl.when(pl.all().str.len_bytes() > 0).then(pl.all()).otherwise(None)
    )
    read = stripped.select(_parsed(column) for column in columns)
    empty, unread = stripped.null_count().row(0), read.null_count().row(0)
    for column, before, after in zip(columns, empty, unread, strict=True):
        if after > before:
            row = first_row(read[column.name].is_null() & stripped[column.name].is_not_null())
            value = None if row is None else stripped[column.name][row]
            raise InputError(f"{column.name} must be {NOUNS[column.kind]}", value=value, place=where(row, column.name))
    return read


def conform(frame: pl.DataFrame, columns: Sequence[Column], where: Where) -> pl.DataFrame:
    """Stored columns as what they declare to hold: shorter numbers are widened, a column of nulls has any kind.

    Raises:
        InputError: a column holds something else.
    """
    casts = []
    schema = frame.schema
    for column in columns:
        dtype = schema[column.name]
        if not _fits(dtype, column):
            raise InputError(
                f"{column.name} must hold {NOUNS[column.kind]} in every row",
                value=str(dtype),
                place=where(None, column.name),
            )
        if dtype == DTYPES[column.kind]:
            continue
        convert = column.kind == "time" and dtype != pl.Null()
        casts.append(pl.col(column.name).dt.convert_time_zone("UTC").cast(TIME) if convert else _cast(column))
    return frame.with_columns(casts) if casts else frame


def check_values(frame: pl.DataFrame, columns: Iterable[Column], where: Where) -> None:
    """Refuses cells that are missing where every trial has one, are no finite number, or not plausible in their unit.

    A latency quantile is no shorter than those below it, but for a tenth.

    Raises:
        InputError: for the first row that breaks a rule.
    """
    columns = list(columns)
    tests = [test for column in columns for test in _tests(column, frame)]
    failures = frame.lazy().select(test.fails.any().alias(str(i)) for i, test in enumerate(tests)).collect().row(0)
    breaches = [test for test, fails in zip(tests, failures, strict=True) if fails]
    if not breaches:
        return
    rows = [first_row(frame.select(test.wrong).to_series()) for test in breaches]
    row, number = min((row, i) for i, row in enumerate(rows) if row is not None)
    _explain(breaches[number], frame, row, where)


def check_identity(frame: pl.DataFrame, where: Where) -> None:
    """Refuses a trial that is there twice.

    Raises:
        InputError: a study has two trials of one number.
    """
    study, trial = pl.col("study"), pl.col("trial")
    begins = (study != study.shift()).fill_null(True)  # noqa: FBT003 -- polars' own
    rises = begins | (trial > trial.shift())
    in_runs = frame.lazy().select(rises.all() & (begins.sum() == study.n_unique())).collect().item()
    # Trials are usually written in their order; only others are worth a hash table.
    if in_runs:
        return
    identity = frame.select(pl.struct("study", "trial")).to_series()
    row = first_row(~identity.is_first_distinct())
    if row is not None:
        value = f"trial {frame['trial'][row]} of {frame['study'][row]}"
        raise InputError("a study must have each trial once", value=value, place=where(row, "trial"))


def check_study(frame: pl.DataFrame, where: Where, *, whole: bool = True) -> pl.DataFrame:
    """The table with its columns as the schema declares them, checked.

    Args:
        frame: The trials.
        where: Names the place of an error.
        whole: Whether every column is there; else some were left out on purpose.

    Raises:
        InputError: a column is missing or unknown, or a cell breaks a rule.
    """
    columns = columns_of(frame.columns, where, required=REQUIRED if whole else ())
    study = conform(frame, columns, where)
    if study.is_empty():
        raise InputError("a study must have at least one trial", wrong="the study is empty", place=where(None, None))
    check_values(study, columns, where)
    if {"study", "trial"} <= set(study.columns):
        check_identity(study, where)
    return study


def columns_of(names: Sequence[str], where: Where, *, required: Sequence[str] = REQUIRED) -> list[Column]:
    """The declarations of the columns of those names.

    Raises:
        InputError: one is unknown or missing, or other signs than commas stand between them.
    """
    if len(names) == 1 and len(parts := re.split("[;\t]", names[0])) > 1 and any(map(_is_column, parts)):
        raise InputError(
            "the cells of a study must be divided by commas",
            wrong="the first line is of one cell",
            place=where(None, None),
            hint="save it as CSV with commas, in which decimals have points",
        )
    columns = []
    for name in names:
        try:
            columns.append(column_of(name))
        except InputError as error:
            raise error.at(where(None, None)) from error
    missing = [name for name in required if name not in names]
    if missing:
        rule = f"a study must have the columns {', '.join(REQUIRED)}"
        wrong = f"there is no column {', '.join(missing)}"
        raise InputError(rule, wrong=wrong, place=where(None, None), hint=LISTING)
    return columns


def _is_column(name: str) -> bool:
    try:
        column_of(name.strip())
    except InputError:
        return False
    return True


def first_row(holds: pl.Series) -> int | None:
    """The first row where it does; None when there is none."""
    rows = holds.arg_true()
    return None if rows.is_empty() else int(rows[0])


def _place(path: object, row: str | None, column: str | None) -> str:
    return ", ".join([str(path), *([row] if row else []), *([f"column {column}"] if column else [])])


def _parsed(column: Column) -> pl.Expr:
    cell = pl.col(column.name)
    if column.kind == "time":
        return cell.str.to_datetime(_TIME_FORMAT, time_unit="us", strict=False).dt.replace_time_zone("UTC")
    return cell if column.kind == "text" else cell.cast(DTYPES[column.kind], strict=False)


def _fits(dtype: pl.DataType, column: Column) -> bool:
    if dtype == pl.Null():
        return True
    if column.kind == "text":
        return dtype == pl.String()
    if column.kind == "time":
        return isinstance(dtype, pl.Datetime) and dtype.time_zone is not None
    return dtype.is_integer() or (column.kind == "number" and dtype.is_float())


def _cast(column: Column) -> pl.Expr:
    return pl.col(column.name).cast(DTYPES[column.kind])


@dataclass(frozen=True, slots=True)
class _Test:
    """A rule of one column.

    Attributes:
        rule: What it is about.
        column: The column.
        wrong: Of every row, whether it breaks the rule.
        fails: The same of as many rows as are needed to know whether any does.
    """

    rule: Literal["missing", "text", "word", "range", "order"]
    column: Column
    wrong: pl.Expr
    fails: pl.Expr


def _tests(column: Column, frame: pl.DataFrame) -> Iterable[_Test]:
    cell = pl.col(column.name)
    if column.required:
        yield _Test("missing", column, cell.is_null(), cell.is_null())
    if column.kind == "text":
        # Most texts are those of the row before.
        yield _Test("text", column, _is_no_line(cell), _is_no_line(cell.filter(cell.ne_missing(cell.shift()))))
        if column.words:
            unknown = ~cell.is_in(column.words)
            yield _Test("word", column, unknown, unknown)
    elif column.kind != "time":
        # NaN is between no two numbers.
        outside = ~cell.is_between(column.low, column.high)
        yield _Test("range", column, outside, outside)
    if lower := _lower_quantiles(column, frame):
        shorter = cell < IN_ORDER * pl.max_horizontal(lower)
        yield _Test("order", column, shorter, shorter)


def _lower_quantiles(column: Column, frame: pl.DataFrame) -> list[str]:
    quantile = quantile_of(column.name)
    return [n for n in frame.columns if (q := quantile_of(n)) is not None and quantile is not None and q < quantile]


def _is_no_line(cell: pl.Expr) -> pl.Expr:
    return (cell.str.len_bytes() == 0) | cell.str.contains(_UNPRINTABLE)


def _explain(test: _Test, frame: pl.DataFrame, row: int, where: Where) -> None:
    rule, column = test.rule, test.column
    name, place, value = column.name, where(row, column.name), frame[column.name][row]
    if rule == "missing":
        raise InputError(wrong=f"{name} is empty", place=place)
    if rule == "text":
        raise InputError(f"{name} must be one line of text", value=value, place=place)
    if rule == "word":
        hint = guess(value, column.words)
        raise InputError(f"{name} must be {either(column.words)}", value=value, place=place, hint=hint)
    if rule == "order":
        longest = max(_lower_quantiles(column, frame), key=lambda n: frame[n][row] or 0.0)
        hint = f"{longest} is {frame[longest][row]:g}: is one of them in another unit, or another column's?"
        raise InputError(
            f"{name} must be at least as long as the quantiles below it", value=value, place=place, hint=hint
        )
    if value != value or abs(value) == float("inf"):  # noqa: PLR0124 -- NaN
        raise InputError(f"{name} must be a finite number", value=str(value), place=place)
    unit = f"be in {column.unit} and " if column.unit else ""
    bounds = f"{name} must {unit}lie between {column.low:g} and {column.high:g}"
    raise InputError(bounds, value=value, place=place, hint=_ANOTHER_UNIT if column.unit else None)
