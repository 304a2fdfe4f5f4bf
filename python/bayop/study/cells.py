"""The cells of a CSV file as numbers, times and words."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from bayop.errors import InputError
from bayop.study.check import at_lines, from_text
from bayop.study.schema import Column
from bayop.study.text import CsvText


def read_cells(text: CsvText, columns: Sequence[Column]) -> tuple[pl.DataFrame, list[int]]:
    """All rows of a file, and the line that each of them ends on.

    Raises:
        InputError: a cell is not what its column holds, or there is no row.
    """
    lines: list[int] = []
    parts = []
    for batch in text.batches():
        parts.append(from_text(batch.cells, columns, at_lines(text.path, batch.lines)))
        lines += batch.lines
    if not parts:
        raise InputError(
            "a study must have at least one trial", wrong="the study is empty", place=f"{text.path}, line 1"
        )
    return pl.concat(parts), lines
