"""CSV files, plain or compressed, as cells of text with the line of every row.

Python's own reader does it: it is strict about quotes and widths and knows its line, which polars' is and does not.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import polars as pl

from bayop.errors import InputError, unreadable

GZIP_MAGIC: Final = b"\x1f\x8b"
_BATCH_ROWS: Final = 50_000
_CHUNK_BYTES: Final = 1 << 20
_MOST_BYTES: Final = 1 << 30
"""Of a study as text, which is held in memory: a pipe may never end, and little that is compressed may be much."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Some consecutive rows.

    Attributes:
        cells: Text, by the header's names.
        lines: The line that each row ends on, counted from 1.
    """

    cells: pl.DataFrame
    lines: list[int]


class CsvText:
    """One CSV file in UTF-8, read once.

    Args:
        path: The file; gzip is recognised by its first bytes.

    Raises:
        InputError: it can't be read, is no text, ends early, or has no header with each name once.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reader = csv.reader(io.StringIO(_decoded(path), newline=""), strict=True)
        self.header = [name.strip() for name in self._record() or []]
        if not any(self.header):
            raise InputError(
                "a study must begin with a line of column names", wrong="the file is empty", place=f"{path}, line 1"
            )
        twice = sorted(name for name, count in Counter(self.header).items() if count > 1)
        if twice:
            raise InputError("a study must have each column once", value=", ".join(twice), place=f"{path}, line 1")

    def batches(self) -> Iterator[Batch]:
        """The rows, in order; lines without cells are skipped.

        Raises:
            InputError: a line has another number of cells than the header, or its quotes do not match.
        """
        rows = self._rows()
        while some := list(islice(rows, _BATCH_ROWS)):
            cells, lines = zip(*some, strict=True)
            columns = zip(*cells, strict=True)
            series = {name: pl.Series(c, dtype=pl.String) for name, c in zip(self.header, columns, strict=True)}
            yield Batch(pl.DataFrame(series), list(lines))

    def _rows(self) -> Iterator[tuple[list[str], int]]:
        while (record := self._record()) is not None:
            if record and len(record) != len(self.header):
                rule = "every line of a study must have as many cells as the header"
                raise InputError(
                    rule, wrong=f"the line has {len(record)} cells", place=f"{self.path}, line {self._reader.line_num}"
                )
            if record:
                yield record, self._reader.line_num

    def _record(self) -> list[str] | None:
        try:
            return next(self._reader, None)
        except csv.Error as error:
            place = f"{self.path}, line {max(self._reader.line_num, 1)}"
            raise InputError(wrong=f"the file is not CSV: {error}", place=place) from error


def read_bytes(path: Path, count: int = -1) -> bytes:
    """The file's first bytes; all by default.

    Raises:
        InputError: it can't be read.
    """
    try:
        if path.is_char_device():  # such as /dev/zero, which never ends
            raise InputError(wrong=f"cannot read {path}: it is a device", place=str(path))
        with path.open("rb") as file:
            return file.read(count)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def _decoded(path: Path) -> str:
    content = read_bytes(path, _MOST_BYTES + 1)
    if content.startswith(GZIP_MAGIC):
        content = _unpacked(content, path)
    _check_length(len(content), path)
    try:
        # Spreadsheets put a byte-order mark in front.
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            wrong="the file is not text in UTF-8", place=f"{path}, line {line}", hint="save it as CSV in UTF-8"
        ) from error


def _check_length(length: int, path: Path) -> None:
    if length > _MOST_BYTES:
        rule = f"a study of text must have at most {_MOST_BYTES:,} bytes"
        raise InputError(rule, wrong="the file is too long", place=str(path), hint="split it, or write it as Parquet")


def _unpacked(content: bytes, path: Path) -> bytes:
    chunks: list[bytes] = []
    length = 0
    try:
        with gzip.open(io.BytesIO(content)) as file:
            while chunk := file.read1(_CHUNK_BYTES):
                chunks.append(chunk)
                length += len(chunk)
                _check_length(length, path)
    except (EOFError, OSError, zlib.error) as error:
        line = sum(chunk.count(b"\n") for chunk in chunks) + 1
        raise InputError(
            wrong="the compressed study is cut short or damaged",
            place=f"{path}, line {line}",
            hint="gzip -t says more; copy or compress it again",
        ) from error
    return b"".join(chunks)
