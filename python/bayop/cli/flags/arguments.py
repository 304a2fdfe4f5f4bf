"""Arguments that several verbs share, with the parsing that gives the project's errors."""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from bayop.domains import Range, parse_range
from bayop.errors import InputError
from bayop.objective import OBJECTIVES, Objective
from bayop.relative_slo import RelativeSlo, parse_slo
from bayop.slo import QPS, Slo
from bayop.study import example
from bayop.units import HOUR_S, parse_quantity

S = TypeVar("S")
T = TypeVar("T")

# What the twin can be asked for; no server comes near either end.
_LEAST_QPS: Final = 0.001
_MOST_QPS: Final = 1e9
_LEAST_DURATION_S: Final = 0.001
_MOST_HEADROOM: Final = 0.9
_MOST_SEED: Final = 2**32 - 1

DEFAULT_SLO: Final = "p99<500us"


def reader(parse: Callable[[S], T], flag: str) -> Callable[[S], T]:
    """An argparse `type` that passes the project's own errors through, with the flag as their place."""

    def read(value: S) -> T:
        try:
            return parse(value)
        except InputError as error:
            raise error.at(flag) from error

    return read


def qps(text: str) -> float:
    """A load in requests/s: `600000`, `600kqps`, `600k`."""
    value = parse_quantity(text, "qps")
    if not _LEAST_QPS <= value <= _MOST_QPS:
        raise InputError(f"a load must lie between {_LEAST_QPS:g} and {_MOST_QPS:g} requests/s", value=text)
    return value


def whole_number(low: int, high: int) -> Callable[[str], int]:
    """Reads whole numbers from `low` to `high`."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise InputError("it must be a whole number", value=text) from None
        if not low <= value <= high:
            raise InputError(f"it must be a whole number from {low} to {high}", value=text)
        return value

    return parse


def cpus(text: str) -> list[int]:
    """CPUs as the kernel lists them: `0,2-3` (cpuset(7), list format)."""
    hint = f"such as 0 or 0-1; here are {', '.join(map(str, sorted(os.sched_getaffinity(0))))}"
    if not re.fullmatch(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*", text, re.ASCII):
        raise InputError("CPUs must be a list of numbers and ranges", value=text, hint=hint)
    ends = [part.split("-") for part in text.split(",")]
    cpus = sorted({cpu for numbers in ends for cpu in range(int(numbers[0]), int(numbers[-1]) + 1)})
    if not cpus or not os.sched_getaffinity(0).issuperset(cpus):
        raise InputError("CPUs must be those that bayop may run on", value=text, hint=hint)
    return cpus


def duration_s(text: str) -> float:
    """A time in s: `2s`, `500ms`.

    Raises:
        InputError: no time, or not between a millisecond and an hour.
    """
    value = parse_quantity(text, "s")
    if not _LEAST_DURATION_S <= value <= HOUR_S:
        raise InputError("a time must lie between 1ms and 1h", value=text)
    return value


def share(text: str) -> float:
    """A share: `0.05`, `5%`.

    Raises:
        InputError: no share, or not from 0 to 1.
    """
    value = parse_quantity(text, "%") / 100.0 if text.strip().endswith("%") else parse_quantity(text, "")
    if not 0.0 <= value <= 1.0:
        raise InputError("a share must lie between 0 and 1", value=text)
    return value


def headroom(text: str) -> float:
    """A share that leaves enough of the whole.

    Raises:
        InputError: no share, or not from 0 to 90 %.
    """
    try:
        value = share(text)
    except InputError:
        value = math.nan
    if not value <= _MOST_HEADROOM:
        raise InputError("a share must be a number from 0% to 90%", value=text, hint="such as 10% or 0.1")
    return value


def knob_range(text: str) -> tuple[str, Range]:
    """Which numbers of a knob are searched: `nic.rx_usecs=0:1ms:20us`, `cpu.freq_mhz=1.3GHz:2.1GHz`.

    Raises:
        InputError: not of that form, or a number in the wrong unit.
    """
    knob_id, _, numbers = text.partition("=")
    if not knob_id or not 2 <= len(numbers.split(":")) <= 3:
        hint = "such as nic.rx_usecs=2:402:20"
        raise InputError("a range must be KNOB=LOW:HIGH or KNOB=LOW:HIGH:STEP", value=text, hint=hint)
    return knob_id, parse_range(knob_id, numbers)


positive: Final = whole_number(1, 10**9)
"""Reads a count of anything."""


def add_slo(parser: argparse.ArgumentParser, default: str = DEFAULT_SLO, *, or_else: str | None = None) -> None:
    """`--slo`, of one limit; None without it where something else than `default` may be meant: `or_else`."""
    parser.add_argument(
        "--slo",
        type=reader(Slo.single, "--slo"),
        default=None if or_else else Slo.parse(default),
        metavar="SLO",
        help=f"latency objective with its unit, such as p99<500us or p90<0.5ms (default: {or_else or default})",
    )


def add_slos(parser: argparse.ArgumentParser) -> None:
    """`--slo`, of several limits, some relative to the default; `slos_of` reads them, because they belong together."""
    parser.add_argument(
        "--slo",
        action="append",
        type=reader(_one_slo, "--slo"),
        metavar="SLO",
        help="what has to be kept: a latency quantile, such as p99<500us or p99<1.2*default, and beside it a "
        f"throughput, such as qps>590k (repeatable; default: {DEFAULT_SLO})",
    )


def _one_slo(text: str) -> str:
    """One of several `--slo`, checked but not yet read with the others; a throughput alone is only part of an SLO."""
    is_floor = all(part.lstrip().startswith(QPS) for part in text.split(","))
    try:
        parse_slo(f"{DEFAULT_SLO},{text}" if is_floor else text)
    except InputError as error:
        raise error.but(value=text) from error
    return text


def slos_of(args: argparse.Namespace) -> Slo | RelativeSlo:
    """What every `--slo` asks for, together.

    Raises:
        InputError: one is none, or they can't be kept together.
    """
    return reader(parse_slo, "--slo")(",".join(args.slo or [DEFAULT_SLO]))


def add_headroom(parser: argparse.ArgumentParser) -> None:
    """`--headroom`."""
    parser.add_argument(
        "--headroom",
        type=reader(headroom, "--headroom"),
        metavar="SHARE",
        help="search for settings whose latency stays so far below the SLO's limit, such as 10%% (default: 0%%)",
    )


def add_objective(parser: argparse.ArgumentParser, *, default: str = "power") -> None:
    """`--objective`; `objective_of` reads it, because its meaning depends on the SLO."""
    parser.add_argument(
        "--objective",
        default=default,
        metavar="NAME|EXPRESSION",
        help=f"what is minimised: {', '.join(OBJECTIVES)}, "
        f"or an expression such as 'power_w * p99_us' (default: {default})",
    )


def objective_of(args: argparse.Namespace, slo: Slo) -> Objective:
    """The objective that `--objective` asks for under an SLO.

    Raises:
        InputError: neither a name nor a valid expression.
    """

    def parse(text: str) -> Objective:
        return Objective.parse(text, slo)

    return reader(parse, "--objective")(args.objective)


def add_load(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """`--load`."""
    parser.add_argument(
        "--load",
        type=reader(qps, "--load"),
        required=required,
        metavar="QPS",
        help="offered load, such as 600000, 600kqps or 600k",
    )


def add_load_curve(parser: argparse.ArgumentParser, scaled: str) -> None:
    """`--load-curve`; `LoadCurve.load` reads it, which only the verb that was asked for loads."""
    parser.add_argument(
        "--load-curve",
        default="twitter",
        metavar="NAME|FILE",
        help="shape of the load: twitter, twitter-cluster1, twitter-cluster2, or a CSV file with the columns hour and "
        f"qps_mean; {scaled} (default: twitter)",
    )


def add_max_trials(parser: argparse.ArgumentParser) -> None:
    """`--max-trials`."""
    parser.add_argument(
        "--max-trials",
        type=reader(positive, "--max-trials"),
        default=15,
        metavar="N",
        help="trial budget of the search (default: 15)",
    )


def add_with_ebbrt(parser: argparse.ArgumentParser) -> None:
    """`--with-ebbrt`: the papers' library operating system, which nobody runs in production."""
    parser.add_argument(
        "--with-ebbrt", action="store_true", help="show EbbRT too, the library operating system of the papers"
    )


def add_report_folder(parser: argparse.ArgumentParser, *, default: str) -> None:
    """`--out`, for a report."""
    parser.add_argument(
        "--out",
        type=reader(path, "--out"),
        default=Path(default),
        metavar="DIR",
        help=f"where the report goes (default: {default})",
    )


def add_seed(parser: argparse.ArgumentParser) -> None:
    """`--seed`."""
    parser.add_argument(
        "--seed",
        type=reader(whole_number(0, _MOST_SEED), "--seed"),
        default=0,
        metavar="N",
        help="seed of everything random (default: 0)",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """`--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON lines for programs, and nothing else")


def path(text: str) -> Path:
    """A path as given.

    Raises:
        InputError: it is empty, which would mean the current folder.
    """
    if not text:
        raise InputError("a path must not be empty", value=text)
    return Path(text)


def study_file(text: str) -> Path:
    """The file of a study: a path, or `example:memcached` for one that comes with BayOp.

    Raises:
        InputError: it is empty, or there is no such example.
    """
    path(text)
    return example.study_file(text)
