"""`bayop trigger`: a service searches now, and not when its triggers say so."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli.flags import arguments, running

EXAMPLE: Final = """\
  bayop trigger cache
  bayop trigger cache --file bayop.toml --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    running.add_service(parser, required=True)
    running.add_file(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Has it search and says how it stood when it was told."""
    running.show(running.tell(args, args.service), json=args.json)
    return 0
