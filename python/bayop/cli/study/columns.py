"""`bayop study columns`: the columns that a study may have."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli.flags import arguments
from bayop.cli.terminal.output import console, literal, new_table, print_json
from bayop.errors import InputError

EXAMPLE: Final = """\
  bayop study columns
  bayop study columns --markdown
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "--markdown", action="store_true", help="print the reference page, docs/reference/study-columns.md"
    )
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the columns."""
    from bayop.cli.study.page import entries, page

    if args.markdown:
        if args.json:
            raise InputError(wrong="--markdown and --json were both given", place="--markdown", hint="leave --json out")
        print(page(), end="")
    elif args.json:
        for column in entries():
            print_json(
                {"event": "column", "column": column.name, "kind": column.kind, "unit": column.unit}
                | {"meaning": column.meaning, "required": column.required, "measured": column.measured}
            )
    else:
        table = new_table("the whole reference: bayop study columns --markdown")
        for name in ("column", "kind", "unit"):
            table.add_column(name, no_wrap=True)
        table.add_column("what it says", overflow="fold")
        for column in entries():
            table.add_row(*map(literal, (column.name, column.kind, column.unit, column.meaning)))
        console().print(table)
    return 0
