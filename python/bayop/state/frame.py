"""What is remembered as a table of columns, for those who analyse it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

import polars as pl

_TYPES: Final[Mapping[str, pl.DataType]] = {
    **dict.fromkeys(("service", "reason", "stopped", "phase", "cut_short", "event", "fields"), pl.String()),
    **dict.fromkeys(("number", "trials", "search", "grain_s"), pl.Int64()),
    "meets_slo": pl.Boolean(),
}
"""Of the columns that are no plain numbers."""


def frame_of(rows: Iterable[Mapping[str, Any]], columns: Iterable[str]) -> pl.DataFrame:
    """Rows of one table of the state.

    A setting has a column for each of its knobs, `setting.nic.rx_usecs`, which is null where it is the default's; one
    with words among its values is of text. The fields of an event are JSON in one column. Times are s since 1970.

    Args:
        rows: As `records.read` gives them.
        columns: The names of the table's columns.
    """
    rows = list(rows)
    series: list[pl.Series] = []
    for name in columns:
        values = [row[name] for row in rows]
        if name == "setting":
            series += _knobs(values)
        elif name == "fields":
            series.append(pl.Series(name, [json.dumps(fields) for fields in values], pl.String))
        else:
            series.append(pl.Series(name, values, _TYPES.get(name, pl.Float64()), strict=False))
    return pl.DataFrame(series)


def _knobs(settings: list[Mapping[str, float | str] | None]) -> list[pl.Series]:
    ids = sorted({knob_id for setting in settings for knob_id in setting or {}})
    return [
        _knob(knob_id, [None if setting is None else setting.get(knob_id) for setting in settings]) for knob_id in ids
    ]


def _knob(knob_id: str, values: list[float | str | None]) -> pl.Series:
    name = f"setting.{knob_id}"
    if any(isinstance(value, str) for value in values):
        texts = [f"{value:g}" if isinstance(value, int | float) else value for value in values]
        return pl.Series(name, texts, pl.String)
    return pl.Series(name, values, pl.Float64, strict=False)
