"""Logs as Parquet: the columns of `layout`, with the layout in the file's metadata. Smaller and faster than text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from bayop.errors import InputError
from bayop.files import write_whole
from bayop.interrupts.batch import ALL_OR_NONE, BadRecordError, Batch
from bayop.interrupts.layout import Layout

if TYPE_CHECKING:
    import polars as pl

METADATA_KEY: Final = "bayop.interrupts"
BATCH_ROWS: Final = 2**17
PIECE_ROWS: Final = 2**22
"""A file is cut into pieces of so many rows for a cluster; a multiple of `BATCH_ROWS`, its row groups."""


def read_layout(path: Path) -> Layout:
    """What the numbers of a file mean.

    Raises:
        InputError: it was not written by `write`, or is damaged.
    """
    import polars as pl

    try:
        text = pl.read_parquet_metadata(path).get(METADATA_KEY)
        schema = pl.read_parquet_schema(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _damaged(path, error) from error
    if text is None:
        raise InputError(
            "a Parquet log must have been written by bayop interrupts convert or record", value=str(path),
            hint=f"its metadata have no {METADATA_KEY}",
        )  # fmt: skip
    try:
        layout = Layout.from_json(text)
    except InputError as error:
        raise error.at(f"{path}, metadata {METADATA_KEY}") from error
    expected = dict.fromkeys((*layout.every, *layout.sampled), pl.Int64())
    if dict(schema) != expected:
        wrong = sorted(name for name in {*schema, *expected} if schema.get(name) != expected.get(name))
        raise InputError(
            f"a Parquet log must have the columns {', '.join(expected)}, all Int64", place=str(path),
            value=", ".join(f"{name}: {schema.get(name, 'none')}" for name in wrong) or "another order",
        )  # fmt: skip
    return layout


def pieces(path: Path) -> list[tuple[int, int]]:
    """Rows at which a file may be cut: first row of each piece, and first row after it."""
    import polars as pl

    try:
        rows = int(pl.scan_parquet(path).select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _damaged(path, error) from error
    return [(start, min(start + PIECE_ROWS, rows)) for start in range(0, max(rows, 1), PIECE_ROWS)]


def read(path: Path, layout: Layout, start: int, stop: int | None) -> Iterator[Batch]:
    """The records of some rows.

    Raises:
        InputError: the file is damaged.
        BadRecordError: a record has some of its sampled counters only, or none of what every record has.
    """
    import polars as pl

    length = None if stop is None else stop - start
    row = 0
    try:
        frames = pl.scan_parquet(path).slice(start, length).collect_batches(chunk_size=BATCH_ROWS, maintain_order=True)
        for frame in frames:
            if frame.height:
                yield _batch(frame, layout, row)
                row += frame.height
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _damaged(path, error) from error


def write(batches: Iterable[Batch], layout: Layout, path: Path) -> None:
    """Writes a file whole or not at all, and holds no more than a few batches in memory.

    Raises:
        InputError: it can't be written.
    """
    import polars as pl
    from polars.io.plugins import register_io_source

    schema: dict[str, pl.DataType] = dict.fromkeys((*layout.every, *layout.sampled), pl.Int64())
    errors: list[BaseException] = []

    def frames(*_: object) -> Iterator[pl.DataFrame]:
        # What is raised here comes out of polars as another error; `write` raises it as it was.
        try:
            for batch in batches:
                yield batch.frame()
        except Exception as error:
            errors.append(error)
            raise

    def fill(file: IO[bytes]) -> None:
        source = register_io_source(frames, schema=schema)
        source.sink_parquet(file, row_group_size=BATCH_ROWS, metadata={METADATA_KEY: layout.to_json()})

    try:
        write_whole(path, fill, failures=(pl.exceptions.PolarsError,))
    except InputError:
        if errors:
            raise errors[0] from None
        raise


def _batch(frame: pl.DataFrame, layout: Layout, row: int) -> Batch:
    import polars as pl

    for name in layout.every:
        if frame[name].null_count():
            at = int(frame[name].is_null().arg_true()[0])
            raise BadRecordError(row + at, name, "every record must have a value", value="null")
    samples = (
        frame.select("time_ticks", *layout.sampled).with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    )
    samples = samples.drop_nulls("energy_units") if layout.has_counters else samples.clear()
    for name in layout.sampled:
        others, own = samples[name], frame[name]
        if others.null_count() or own.count() != samples.height:
            rows = (own.is_null() != frame["energy_units"].is_null()).arg_true()
            raise BadRecordError(row + int(rows[0]), name, ALL_OR_NONE, value="an empty cell")
    return Batch(layout, row, frame.select(layout.every), samples)


def _damaged(path: Path, error: Exception) -> InputError:
    return InputError(wrong="the log is no whole Parquet file", place=str(path), hint=str(error).partition("\n")[0])
