"""`bayop config`: which flags have defaults of the user's, and where each comes from."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli import defaults
from bayop.cli.flags import arguments
from bayop.cli.terminal.output import console, literal, new_table, print_json

EXAMPLE: Final = """\
  bayop config
  BAYOP_SLO='p99<200us' bayop config --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Prints every default that is not BayOp's own."""
    from bayop.cli.parser import build_parser

    entries = defaults.apply(build_parser([], every_verb=True))
    if args.json:
        for default in entries:
            verb = " ".join(default.words)
            print_json(
                {
                    "event": "default",
                    "verb": verb,
                    "flag": f"--{default.flag}",
                    "value": default.text,
                    "source": default.source,
                }
            )
        return 0
    table = new_table()
    for column in ("verb", "flag", "default", "from"):
        table.add_column(column)
    for default in entries:
        table.add_row(*map(literal, (" ".join(default.words), f"--{default.flag}", default.text, default.source)))
    screen = console()
    if entries:
        screen.print(table)
    else:
        screen.print("Every flag has BayOp's own default.")
    for path in defaults.files():
        screen.print(literal(f"{path}: {'read' if defaults.is_there(path) else 'not there'}"))
    return 0
