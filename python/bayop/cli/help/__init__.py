"""`bayop help`: the help of a verb or an action, and what it prints for programs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Final

from bayop.errors import InputError, guess

EXAMPLE: Final = """\
  bayop help tune
  bayop help twin run
  bayop help tune --events
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument("words", nargs="*", metavar="VERB", help="a verb, and an action of it where it has some")
    parser.add_argument(
        "--events",
        action="store_true",
        help="print the JSON Schema of what VERB prints under --json; without VERB, the page of all events",
    )


def run(args: argparse.Namespace) -> int:
    """Prints."""
    if args.events:
        sys.stdout.write(_schema(args.words) if args.words else _page())
    else:
        from bayop.cli.commands import commands

        parser = _load(args.words)
        next(c for c in commands(parser) if c.words == tuple(args.words)).parser.print_help()
    return 0


def _load(words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser with what the words name.

    Raises:
        InputError: they name nothing.
    """
    from bayop.cli.commands import commands
    from bayop.cli.parser import build_parser

    parser = build_parser(words)
    names = [" ".join(command.words) for command in commands(parser)]
    if " ".join(words) not in names:
        hint = guess(" ".join(words), names, prefix="bayop help ") or "see bayop --help"
        raise InputError(wrong=f"there is no help on {' '.join(words)!r}", rule="it must be a verb", hint=hint)
    return parser


def _schema(words: Sequence[str]) -> str:
    from bayop.events import ERROR, EVENTS, schema

    verb = " ".join(words)
    if verb not in EVENTS:
        _load(words)
        hint = f"these do: {', '.join(EVENTS)}"
        raise InputError(wrong=f"{verb} prints nothing for programs", hint=hint)
    return json.dumps(schema(verb, [*EVENTS[verb], ERROR]), indent=2) + "\n"


def _page() -> str:
    from bayop.cli.help.events_page import page

    return page()
