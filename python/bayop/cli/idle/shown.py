"""What the actions of `bayop idle` show of the twin: a table, and a figure beside it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bayop.cli.terminal.output import console, new_table

if TYPE_CHECKING:
    from bayop.report.svg import Drawing


def print_cells(cells: Sequence[Sequence[str]], title: str | None, *, left: str) -> None:
    """A table of a header and rows of numbers; the column of the name `left` has words."""
    header, *rows = cells
    table = new_table(title)
    for name in header:
        table.add_column(name, justify="left" if name == left else "right")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def save_figure(figure: Drawing, args: argparse.Namespace) -> None:
    """Draws it into the folder of `--out`, and says so to people."""
    from bayop.files import make_folder
    from bayop.report.svg import save

    make_folder(args.out)
    save(figure, args.out)
    if not args.json:
        console().print(f"wrote {figure.name}.svg and .png to {args.out}", markup=False)
