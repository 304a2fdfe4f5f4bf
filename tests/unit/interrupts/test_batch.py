from __future__ import annotations

import polars as pl
from tests.support.interrupt_logs import LINES

from bayop.interrupts.batch import BadRecordError, Batch
from bayop.interrupts.intlog import layout_of, read_batch
from bayop.interrupts.layout import INTERRUPT_COLUMNS

LAYOUT = layout_of(16, tsc_hz=None, energy_unit_j=None)


def batch_of(lines: tuple[str, ...], *, first_row: int = 0) -> Batch:
    return read_batch("\n".join(lines).encode(), LAYOUT, first_row)


def test_samples_stand_beside_their_records_and_nulls_beside_the_others() -> None:
    frame = batch_of(LINES).frame()
    assert frame.columns == [*INTERRUPT_COLUMNS, *LAYOUT.sampled]
    assert set(frame.dtypes) == {pl.Int64()}
    assert frame["entry"].to_list() == [0, 1, 2, 3, 4, 5]
    assert frame["cycles"].to_list() == [None, 2_000_000, None, None, 4_000_000, None]


def test_rows_of_samples_count_from_the_start_of_the_batch() -> None:
    assert batch_of(LINES, first_row=1000).frame().equals(batch_of(LINES).frame())


def test_a_batch_without_samples_has_nulls_only() -> None:
    frame = batch_of(LINES[2:4]).frame()
    assert frame.height == 2
    assert frame.select(LAYOUT.sampled).null_count().row(0) == (2,) * len(LAYOUT.sampled)


def test_a_bad_record_says_all_that_is_known_of_it() -> None:
    error = BadRecordError(7, "cycles", "cycles is a whole number", value="x", hint="look")
    assert (error.row, error.column, error.rule, error.value, error.hint) == (
        7, "cycles", "cycles is a whole number", "x", "look",
    )  # fmt: skip
