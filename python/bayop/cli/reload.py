"""`bayop reload`: `bayop run` reads its file anew, as after SIGHUP, and says what came of it."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli.flags import arguments, running
from bayop.cli.terminal.output import console, literal, print_json

EXAMPLE: Final = """\
  bayop reload
  bayop reload --file bayop.toml --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    running.add_file(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Says which services were begun, ended and left alone; 2 when the file is not taken."""
    (event,) = running.tell(args)
    if args.json:
        print_json(event)
    else:
        for what in ("begun", "ended", "unchanged"):
            console().print(literal(f"{what:<10} {', '.join(event[what]) or 'none'}"))
    return 0
