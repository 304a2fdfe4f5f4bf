"""The trials that the flags of `bayop fit` choose."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bayop.cli.flags import arguments
from bayop.errors import InputError
from bayop.slo import Slo
from bayop.units import format_quantity

if TYPE_CHECKING:
    import polars as pl

    from bayop.model.cells import Selection


class Named(NamedTuple):
    """A study to fit.

    Attributes:
        name: As it was typed: `example:memcached`.
        path: Its file.
    """

    name: str
    path: Path


def named(text: str) -> Named:
    """The study that was typed.

    Raises:
        InputError: it is empty, or there is no such example.
    """
    return Named(text, arguments.study_file(text))


def selections(args: argparse.Namespace, study: pl.DataFrame) -> list[Selection]:
    """The cells that the flags choose, for each operating system.

    Raises:
        InputError: the study can't be fitted, or a flag leaves nothing of it.
    """
    try:
        return _select(args, study, args.slo, args.min_delay)
    except InputError as error:
        # Which flag leaves nothing is known by what is there without it.
        slo, delay = args.slo, format_quantity(args.min_delay, "us", 4)
        if wider := _select_if_any(args, study, slo):
            longest = max(float(selection.cells.delay_us.max()) for selection in wider)
            wrong = f"no trial that meets {slo} has an ITR-delay of {delay} or more"
            hint = f"their longest is {format_quantity(longest, 'us', 4)}"
            raise InputError(wrong=wrong, value=delay, place="--min-delay", hint=hint) from error
        if wider := _select_if_any(args, study, replace(slo, limit_us=sys.float_info.max)):
            least = min(float(selection.cells.latency_us.min()) for selection in wider)
            wrong = f"no trial with a fixed ITR-delay and frequency meets {slo}"
            hint = f"their least {slo.quantity} is {format_quantity(least, 'us', 4)}"
            raise InputError(wrong=wrong, value=str(slo), place="--slo", hint=hint) from error
        raise


def _select(args: argparse.Namespace, study: pl.DataFrame, slo: Slo, least_delay_us: float) -> list[Selection]:
    from bayop.model.cells import select

    loads = [] if args.load is None else [args.load]
    return select(study, slo, loads=loads, os=args.os, least_delay_us=least_delay_us)


def _select_if_any(args: argparse.Namespace, study: pl.DataFrame, slo: Slo) -> list[Selection]:
    """All delays under an SLO; nothing where there is nothing."""
    try:
        return _select(args, study, slo, 0.0)
    except InputError:
        return []
