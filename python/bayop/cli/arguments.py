"""Arguments that several verbs share, with the parsing that gives the project's errors."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from bayop.errors import InputError
from bayop.slo import Slo
from bayop.units import parse_quantity

T = TypeVar("T")


def reader(parse: Callable[[str], T], flag: str) -> Callable[[str], T]:
    """An argparse `type` that passes the project's own errors through, with the flag as their place."""

    def read(text: str) -> T:
        try:
            return parse(text)
        except InputError as error:
            raise error.at(flag) from error

    return read


def qps(text: str) -> float:
    """A load in requests/s: `600000`, `600kqps`."""
    value = parse_quantity(text, "qps")
    if value <= 0:
        raise InputError("a load is positive", value=text)
    return value


def integer(text: str) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise InputError("a whole number is expected", value=text) from None


def seed(text: str) -> int:
    """A seed: a whole number from 0 on."""
    value = integer(text)
    if value < 0:
        raise InputError("a seed is at least 0", value=value)
    return value


def positive(text: str) -> int:
    """A whole number of at least 1."""
    value = integer(text)
    if value < 1:
        raise InputError("a number of at least 1 is expected", value=value)
    return value


def add_slo(parser: argparse.ArgumentParser, default: str = "p99<500us") -> None:
    """`--slo`."""
    parser.add_argument(
        "--slo",
        type=reader(Slo.parse, "--slo"),
        default=Slo.parse(default),
        metavar="SLO",
        help=f"latency objective with its unit, such as p99<500us or p90<0.5ms (default: {default})",
    )


def add_seed(parser: argparse.ArgumentParser) -> None:
    """`--seed`."""
    parser.add_argument("--seed", type=reader(seed, "--seed"), default=0, help="seed of everything random (default: 0)")


def add_json(parser: argparse.ArgumentParser) -> None:
    """`--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON lines for programs, and nothing else")


def path(text: str) -> Path:
    """A path as given."""
    return Path(text)
