"""What an import needs to know of a file that is not in the study's own schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from bayop.errors import InputError, guess
from bayop.slo import quantile_of
from bayop.study.schema import Column, column_of


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a published file, and what they are in a study.

    Attributes:
        name: What to call it in messages.
        marks: A file is of this layout when its header has one of these.
        columns: Every column of the layout but latency quantiles, by name.
        required: The columns without which it says nothing, besides a latency.
        convert: The study's columns as expressions of the file's; told which columns the file has, and its path.
        rules: What must hold of a column's cells, what to do where it does not, and where that is.
    """

    name: str
    marks: tuple[str, ...]
    columns: Mapping[str, Column]
    required: tuple[str, ...]
    convert: Callable[[Sequence[str], Path], Mapping[str, pl.Expr]]
    rules: Sequence[tuple[str, str, str | None, pl.Expr]] = ()

    def columns_of(self, header: Sequence[str], place: str) -> list[Column]:
        """The declarations of a file's columns.

        Raises:
            InputError: a column is unknown, or a required one is missing.
        """
        missing = [name for name in self.required if name not in header]
        if "roundtrip_us" not in self.required and not any(quantile_of(name) for name in header):
            missing.append("p99_us")
        if missing:
            latency = "" if "roundtrip_us" in self.required else " and latency quantiles such as p99_us"
            rule = f"a study must have the columns {', '.join(self.required)}{latency}"
            hint = _rename_hint(missing, header)
            raise InputError(rule, wrong=f"there is no column {', '.join(missing)}", place=place, hint=hint)
        return [self._column(name, place) for name in header]

    def _column(self, name: str, place: str) -> Column:
        if name in self.columns:
            return self.columns[name]
        if quantile_of(name):
            return column_of(name)
        hint = guess(name, [*self.columns, "p50_us", "p99_us"]) or f"it has {', '.join(self.columns)}"
        raise InputError(wrong=f"{self.name} has no column {name!r}", value=name, place=place, hint=hint)


def number(name: str, unit: str, low: float, high: float) -> Column:
    """A column of numbers."""
    return Column(name, "number", unit, "", low, high)


def text(name: str) -> Column:
    """A column of words."""
    return Column(name, "text", "", "")


def by_name(*columns: Column | str, filled: Sequence[str]) -> dict[str, Column]:
    """Columns by their names; a name alone is a column of the study's schema, in its range.

    Args:
        columns: What the layout has.
        filled: Names of those that no row leaves empty.
    """
    entries = [column_of(c) if isinstance(c, str) else c for c in columns]
    return {column.name: replace(column, required=column.name in filled) for column in entries}


def provenance(path: Path, lines: pl.Expr) -> dict[str, pl.Expr]:
    """Where imported rows come from: the file is the campaign, and a row's number is its trial."""
    return {
        "study": pl.lit(path.name.partition(".")[0]),
        "trial": pl.int_range(1, pl.len() + 1, dtype=pl.Int64),
        "target": pl.lit("published"),
        "source": pl.format("{}:{}", pl.lit(path.name), lines),
    }


def app_of(path: Path) -> pl.Expr:
    """The service that a published file's name says: `study_silo.csv`, `systor_memcached.csv`; null for others."""
    head, _, app = path.name.partition(".")[0].partition("_")
    return pl.lit(app if head in ("study", "systor") and app else None, pl.String)


def _rename_hint(missing: Sequence[str], header: Sequence[str]) -> str:
    for name in missing:
        stem = name.rpartition("_")[0]
        other = next((c for c in header if c.rpartition("_")[0] == stem and c != name), None)
        if stem and other is not None:
            return f"the file has {other}: convert it to {name.rpartition('_')[2]} and name it {name}"
    return f"the file has {', '.join(header)}"
