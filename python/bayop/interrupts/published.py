"""The tidy CSV files of the published logs (interrupts_*.csv): a header, units in the column names.

Times are microseconds since the workload began, with three decimals; counters and energy count from the first sample,
and are empty in records that were not sampled. Read as whole numbers of ns and of 10 uJ, they add up exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayop.errors import InputError
from bayop.interrupts.batch import ALL_OR_NONE, BadRecordError, Batch
from bayop.interrupts.layout import COUNTERS, INTERRUPT_COLUMNS, TSC_HZ, Layout
from bayop.interrupts.text import Field, parse

if TYPE_CHECKING:
    import polars as pl

SEPARATOR: Final = ","
_TICK_HZ: Final = 1_000_000_000
_ENERGY_UNIT_J: Final = 1e-5

_IDLE_STATES: Final = ("c3", "c6", "c7")
_NAMES: Final[dict[str, str]] = {
    "time_ticks": "time_us",
    **{name: f"{name}_cum" for name in COUNTERS},
    **{state: f"{state}_residency_tsc_ticks_cum" for state in _IDLE_STATES},
    "energy_units": "energy_pkg1_j_cum",
}
_DERIVED: Final = "since_prev_us"
# How many of our units one of the file's is.
_SCALES: Final = {"time_us": _TICK_HZ / 1e6, "energy_pkg1_j_cum": 1 / _ENERGY_UNIT_J}


def name_of(column: str) -> str:
    """The column of the file that holds one of ours."""
    return _NAMES.get(column, column)


def read_header(line: bytes, place: str) -> tuple[Layout, tuple[str, ...]]:
    """What the numbers mean, and the names of the columns.

    Raises:
        InputError: columns are missing, unknown, or there twice.
    """
    names = tuple(line.decode("utf-8-sig", "backslashreplace").rstrip("\r\n").split(SEPARATOR))
    required = [name_of(c) for c in (*INTERRUPT_COLUMNS, *COUNTERS)]
    states = tuple(state for state in _IDLE_STATES if name_of(state) in names)
    known = {*required, *(name_of(state) for state in states), _DERIVED}
    missing = [name for name in required if name not in names]
    if missing:
        raise InputError(
            f"a published log must have the columns {', '.join(required)}",
            wrong=f"there is no column {', '.join(missing)}",
            place=place,
            hint=f"the file has {', '.join(names)}",
        )
    unknown = [name for name in names if name not in known]
    if unknown or len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise InputError(
            "a log must have each column that is known once", value=", ".join(unknown or twice), place=place
        )
    layout = Layout(
        name="published CSV", tick_hz=_TICK_HZ, tsc_hz=TSC_HZ, energy_unit_j=_ENERGY_UNIT_J, energy_bits=None,
        counter_bits=None, idle_states=states, idle_meaning="residency",
    )  # fmt: skip
    return layout, names


def read_batch(block: bytes, layout: Layout, names: tuple[str, ...], first_row: int) -> Batch:
    """The records of some whole lines.

    Raises:
        BadRecordError: a line is no record.
    """
    import polars as pl

    sampled = {name_of(column) for column in layout.sampled}
    fields = tuple(
        Field(name, whole=name not in {*_SCALES, _DERIVED}, optional=name in sampled or name == _DERIVED)
        for name in names
    )
    table = parse(block, fields, SEPARATOR, first_row)
    _check_samples(table, sampled, first_row)
    whole = [(pl.col(name) * scale).round().cast(pl.Int64) for name, scale in _SCALES.items()]
    ours = {name_of(column): column for column in (*INTERRUPT_COLUMNS, *layout.sampled)}
    table = table.with_columns(whole).select(*ours).rename(ours)
    samples = (
        table.select("time_ticks", *layout.sampled)
        .with_row_index("row")
        .drop_nulls("energy_units")
        .with_columns(pl.col("row").cast(pl.Int64))
    )
    return Batch(layout, first_row, table.select(INTERRUPT_COLUMNS), samples)


def _check_samples(table: pl.DataFrame, sampled: set[str], first_row: int) -> None:
    import polars as pl

    empty = table.select(pl.sum_horizontal(pl.col(name).is_null() for name in sampled)).to_series()
    rows = ((empty > 0) & (empty < len(sampled))).arg_true()
    if len(rows):
        row = int(rows[0])
        column = next(name for name in table.columns if name in sampled and table[name][row] is None)
        raise BadRecordError(first_row + row, column, ALL_OR_NONE, value="an empty cell")
