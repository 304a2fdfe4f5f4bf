"""`bayop app`: real services to load and to tune - what there is, installed, and started."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli.flags.actions import add_actions, run_action

EXAMPLE: Final = """\
  bayop app list
  bayop app install nginx
  bayop app start nginx
"""

ACTIONS: Final[dict[str, str]] = {
    "list": "list the applications, and which of their programs are installed here",
    "install": "install the Debian packages of an application, and leave the services that they bring off",
    "start": "start an application on the loopback interface, until Ctrl-C",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the actions and their flags."""
    add_actions(parser, "app", ACTIONS)


run = run_action
