"""`bayop libos`: the library OS in an emulated machine - to load it, and to count what a request costs there."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli.flags.actions import add_actions, run_action

EXAMPLE: Final = """\
  bayop libos run
  bayop libos bench --connections 1,64
"""

ACTIONS: Final[dict[str, str]] = {
    "run": "boot the library OS, say where it serves, and wait for Ctrl-C",
    "bench": "count the instructions of a request on the library OS and on Linux (needs root)",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the actions and their flags."""
    add_actions(parser, "libos", ACTIONS)


run = run_action
