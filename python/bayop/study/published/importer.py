"""Imports the files that the papers' authors published, in the layouts of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from bayop.errors import InputError
from bayop.study.cells import read_cells
from bayop.study.check import Where, at_lines, check_study, check_values, first_row
from bayop.study.published import cloudlab, nic_tuning, yawn
from bayop.study.published.layout import Layout
from bayop.study.schema import in_order
from bayop.study.text import CsvText

LAYOUTS: Final = (nic_tuning.CLOSED_LOOP, nic_tuning.OPEN_LOOP, cloudlab.LAYOUT, yawn.LAYOUT)


def layout_of(header: Sequence[str]) -> Layout | None:
    """The published layout that a file with this header is in; None for any other."""
    return next((layout for layout in LAYOUTS if any(mark in header for mark in layout.marks)), None)


def import_published(text: CsvText, layout: Layout) -> pl.DataFrame:
    """A published file as a study.

    Raises:
        InputError: with file, line and column, for whatever is not as the layout says.
    """
    columns = layout.columns_of(text.header, f"{text.path}, line 1")
    frame, lines = read_cells(text, columns)
    where = at_lines(text.path, lines)
    check_values(frame, columns, where)
    _check_rules(frame, layout, where)
    numbered = frame.with_columns(line=pl.Series(lines))
    study = numbered.select(e.alias(name) for name, e in layout.convert(text.header, text.path).items())
    return check_study(study.select(in_order(study.columns)), where)


def _check_rules(frame: pl.DataFrame, layout: Layout, where: Where) -> None:
    for column, rule, hint, breach in layout.rules:
        row = first_row(frame.select(breach).to_series())
        if row is not None:
            value = "" if (cell := frame[column][row]) is None else cell
            raise InputError(rule, value=value, place=where(row, column), hint=hint)
