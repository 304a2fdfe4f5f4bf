"""Studies on disk: Parquet for size, CSV for people and spreadsheets, both with the same columns."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Final, cast

import polars as pl

from bayop.errors import InputError
from bayop.files import write_whole
from bayop.study.cells import read_cells
from bayop.study.check import at_lines, at_rows, check_study, columns_of
from bayop.study.example import study_file
from bayop.study.parquet import MAGIC, read_parquet, write_parquet
from bayop.study.published.importer import import_published, layout_of
from bayop.study.schema import in_order
from bayop.study.text import CsvText, read_bytes

_OWN_MARKS: Final = ("study", "trial", "target")


def open_study(path: Path | str, *, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """A study from a file: this schema in Parquet, CSV or CSV.gz, or one of the published layouts.

    A row is a trial; docs/reference/study-columns.md has the columns with their units.

    Args:
        path: The file, whose kind is told from its content; or `example:memcached`, which comes with BayOp.
        columns: Read and check only these, those that the file has: of ten million trials it saves time and memory.

    Raises:
        InputError: with the file, and where there are any, line and column, for whatever breaks a rule of the schema.

    Example:
        >>> from bayop import open_study
        >>> study = open_study("example:memcached", columns=["qps_offered", "power_w", "p99_us"])
        >>> study.height
        312
        >>> study["qps_offered"].unique().sort().to_list()
        [200000.0, 600000.0]
    """
    path = study_file(path)
    # A pipe can be read only once, and what comes through one is text.
    if path.is_file() and read_bytes(path, len(MAGIC)) == MAGIC:
        return _open_parquet(path, columns)
    text = CsvText(path)
    layout = None if any(mark in text.header for mark in _OWN_MARKS) else layout_of(text.header)
    frame = _open_csv(text) if layout is None else import_published(text, layout)
    return frame if columns is None else frame.select(name for name in frame.columns if name in columns)


def write_study(frame: pl.DataFrame, path: Path) -> None:
    """Checks a study and writes it: all of it, or nothing.

    Args:
        frame: The trials.
        path: Where to; the format is that of its suffix: .parquet, .csv or .csv.gz.

    Raises:
        InputError: the table is no study, the suffix is another, or the file can't be written.
    """
    write = writer_of(path)
    study = check_study(frame, at_rows(path))
    table = study.select(in_order(study.columns))
    write_whole(path, lambda file: write(table, file), failures=(pl.exceptions.PolarsError,))


def trusted(frame: pl.DataFrame) -> pl.DataFrame:
    """The trials that count: neither marked as suspect nor cut short."""
    doubts = [name for name in ("suspect", "cut_short") if name in frame.columns]
    return frame.filter(pl.all_horizontal(pl.col(doubts).is_null())) if doubts else frame


def writer_of(path: Path) -> Callable[[pl.DataFrame, IO[bytes]], None]:
    """What writes a file of that name.

    Raises:
        InputError: the suffix is none of a study's.
    """
    for suffix, write in ((".parquet", write_parquet), (".csv", _write_csv), (".csv.gz", _write_csv_gz)):
        if path.name.endswith(suffix):
            return write
    raise InputError("a study must be written as .parquet, .csv or .csv.gz", value=str(path))


def _open_csv(text: CsvText) -> pl.DataFrame:
    columns = columns_of(text.header, at_lines(text.path, ()))
    frame, lines = read_cells(text, columns)
    return check_study(frame, at_lines(text.path, lines))


def _open_parquet(path: Path, columns: Sequence[str] | None) -> pl.DataFrame:
    where = at_rows(path)
    names, frame = read_parquet(path, columns)
    columns_of(names, where)
    return check_study(frame, where, whole=columns is None)


def _write_csv(frame: pl.DataFrame, file: IO[bytes]) -> None:
    frame.write_csv(file, datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ")


def _write_csv_gz(frame: pl.DataFrame, file: IO[bytes]) -> None:
    # No name and no time inside: the same study gives the same bytes.
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as stream:
        _write_csv(frame, cast("IO[bytes]", stream))
