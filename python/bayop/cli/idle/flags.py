"""Flags that the actions of `bayop idle` on the twin share."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli.flags import arguments
from bayop.cli.twin.flags import add_simulation
from bayop.papers import YAWN_SERVER

_SERVER: Final = f"linux-memcached@{YAWN_SERVER}"


def add_twin(parser: argparse.ArgumentParser, *, requests: int) -> None:
    """`--profile`, and how long a window is simulated."""
    parser.add_argument(
        "--profile",
        default=_SERVER,
        metavar="NAME|FILE",
        help="the server (default: memcached on Linux 4.4, on the machine of [Y])",
    )
    add_simulation(parser, requests=requests)


def add_figures(parser: argparse.ArgumentParser, what: str) -> None:
    """`--out`, into which a figure is drawn."""
    parser.add_argument(
        "--out", type=arguments.reader(arguments.path, "--out"), metavar="DIR", help=f"draw {what} there, SVG and PNG"
    )
