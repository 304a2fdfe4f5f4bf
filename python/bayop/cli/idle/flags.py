"""Flags that the actions of `bayop idle` share."""

from __future__ import annotations

import argparse
from typing import Final

from bayop.cli.flags import arguments
from bayop.cli.twin.flags import add_simulation
from bayop.errors import InputError
from bayop.papers import YAWN_SERVER

_MOST_PRICE: Final = 16.0
_LIMIT_US: Final = (1.0, 1e6)
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


def add_price(parser: argparse._ActionsContainer, meaning: str) -> None:
    """`--price`."""
    parser.add_argument(
        "--price",
        type=arguments.reader(_price, "--price"),
        default=0.1,
        metavar="P",
        help=f"{meaning}, in us of a polling core (default: %(default)s)",
    )


def _price(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InputError("it must be a number", value=text) from None
    if not 0 <= value <= _MOST_PRICE:
        raise InputError(f"it must lie between 0 and {_MOST_PRICE:g}", value=text)
    return value


def limit_us(text: str) -> int:
    """The latest that a CPU may wake up."""
    from bayop.units import parse_quantity

    value = parse_quantity(text, "us")
    if not _LIMIT_US[0] <= value <= _LIMIT_US[1]:
        raise InputError("it must lie between 1us and 1s", value=text)
    return round(value)
