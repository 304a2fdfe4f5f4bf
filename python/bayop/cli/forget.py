"""`bayop forget`: what settings of a service have measured is no prior of its searches any more."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli.flags import arguments, running
from bayop.cli.terminal import exit_codes
from bayop.cli.terminal.asking import is_agreed
from bayop.errors import InputError

EXAMPLE: Final = """\
  bayop forget cache
  bayop forget cache --file bayop.toml --yes
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    running.add_service(parser, required=True)
    running.add_file(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask; for scripts")
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Has it forget and says how it stands; 1 when the answer was no.

    Raises:
        InputError: nobody is there to be asked.
    """
    if not args.yes and not _is_sure(args.service):
        return exit_codes.NO_GOOD
    running.show(running.tell(args, args.service), json=args.json)
    return exit_codes.DONE


def _is_sure(service: str) -> bool:
    nobody = InputError(
        "what can't be taken back must be confirmed", wrong="nobody is there to be asked", hint="add --yes"
    )
    return is_agreed(
        f"{service} lets go of its machine, forgets what its settings have measured, and searches from nothing.\n"
        "Windows, searches and events stay in the history. Forget it?",
        nobody=nobody,
    )
