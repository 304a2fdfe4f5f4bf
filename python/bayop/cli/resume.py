"""`bayop resume`: services go on after `bayop pause`."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli.flags import arguments, running
from bayop.cli.terminal import exit_codes

EXAMPLE: Final = """\
  bayop resume
  bayop resume cache --file bayop.toml
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    running.add_service(parser, required=False)
    running.add_file(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Resumes and says how the services stand; 1 when the stop file keeps one paused."""
    events = running.tell(args, args.service)
    running.show(events, json=args.json)
    return exit_codes.NO_GOOD if any(event["paused_by"] for event in events) else exit_codes.DONE
