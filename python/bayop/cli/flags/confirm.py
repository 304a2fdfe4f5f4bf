"""`--confirm` and `--no-confirm`: is the winner of a search measured again, beside the default?"""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli.flags import arguments
from bayop.saving import FEWEST_PAIRS, Looks

PAIRS: Final = 24
"""The most pairs of windows for a live machine."""

_MOST_PAIRS: Final = 200


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares `--confirm` and `--no-confirm`."""
    either = parser.add_mutually_exclusive_group()
    add_pairs(either)
    either.add_argument(
        "--no-confirm", dest="confirm", action="store_const", const=0, help="believe what the search found"
    )


def add_pairs(parser: argparse._ActionsContainer, *, default: int | None = None) -> None:
    """Declares `--confirm` alone, where there is always a comparison."""
    usual = f"{PAIRS} on a live machine, none elsewhere" if default is None else default
    parser.add_argument(
        "--confirm",
        type=arguments.reader(arguments.whole_number(FEWEST_PAIRS, _MOST_PAIRS), "--confirm"),
        metavar="PAIRS",
        default=default,
        help="measure default and result again in turns, at most so many pairs of windows, to know what it saves for "
        f"sure (default: {usual})",
    )


def looks_of(args: argparse.Namespace, *, is_live: bool) -> Looks | None:
    """What the flags ask for; None for no confirmation."""
    pairs = args.confirm if args.confirm is not None else PAIRS * is_live
    return Looks(pairs) if pairs else None
