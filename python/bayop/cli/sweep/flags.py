"""The flags of `bayop sweep`, and what they ask for: the settings, how often, and who runs the trials."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import agent as agent_flags
from bayop.cli.flags import arguments, live_agent
from bayop.cli.flags import target as target_flags
from bayop.cli.twin import flags as twin_flags
from bayop.domains import Range
from bayop.errors import InputError
from bayop.space import Setting, Space, default_setting

if TYPE_CHECKING:
    from bayop.experiments.sweep.repeats import Repeats

_MOST_PROCESSES: Final = 1024
_GIVEN_BY_A_STUDY: Final = (".parquet", ".csv", ".csv.gz")

# What only some kinds of targets can be told, and how they are asked for.
_FLAGS_OF: Final = {
    "a study": (("study",), "study", ("data", "os")),
    "a twin": (("twin",), "twin", ("profile", "ray")),
    "an agent": (("agent",), "agent:ADDRESS", [flag for flag in live_agent.FLAGS if flag != "window"]),
    "a twin or an agent": (("twin", "agent"), "twin", ("window",)),
    "a target that one process does not own": (("twin", "study"), "twin", ("processes",)),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    target_flags.add_target(parser)
    live_agent.add_senses(parser, windows_of="twin, agent")
    agent_flags.add_tls(parser)
    parser.add_argument(
        "--load",
        type=arguments.reader(twin_flags.loads, "--load"),
        metavar="LOAD,...",
        help="offered loads, such as 600000 or 200kqps,600kqps, or of a closed loop message sizes, such as 64B,64KB; "
        "each is swept",
    )
    arguments.add_slo(parser)
    _add_design(parser)
    _add_repeats(parser)
    arguments.add_seed(parser)
    parser.add_argument(
        "--out",
        type=arguments.reader(_study_file, "--out"),
        default=Path("sweep.parquet"),
        metavar="FILE",
        help="the study that is written: .parquet, .csv or .csv.gz (default: sweep.parquet)",
    )
    _add_workers(parser)
    arguments.add_json(parser)


def check_flags(args: argparse.Namespace) -> None:
    """Refuses flags that have no meaning beside each other.

    Raises:
        InputError: there is one.
    """
    if args.design == "sobol" and args.settings is None:
        raise InputError(
            "a filling design must have a number of settings",
            wrong="--settings is missing",
            place="--settings",
            hint="such as --settings 60",
        )
    if args.design == "grid" and args.settings is not None:
        raise InputError(
            wrong="--settings is for a filling design, and --design is another",
            place="--settings",
            hint="--design sobol",
        )
    if args.until_ci is None:
        for flag in ("ci_of", "most_repeats"):
            if getattr(args, flag) is not None:
                place = f"--{flag.replace('_', '-')}"
                raise InputError(
                    wrong=f"{place} is for repeats until a precision, and none is asked for",
                    place=place,
                    hint="add --until-ci 2%",
                )
    target_flags.check_flags(args, _FLAGS_OF)


def settings_of(space: Space, args: argparse.Namespace, *, seed: int) -> list[Setting]:
    """The settings that the flags ask for, the default first unless it is not wanted.

    Raises:
        InputError: the space does not have them.
    """
    from bayop.experiments.sweep.design import POINTS, axes, fill, grid

    choices: Mapping[str, Range | Sequence[str]] = dict(args.range or ())
    points = args.points or (POINTS if args.design == "grid" else None)
    if args.only:
        only = arguments.reader(space.only, "--only")(args.only)
        # `auto` is a value of theirs like any other.
        space = Space(tuple(space[knob.id] if knob.id in args.only else knob for knob in only.knobs))
    target_flags.check_auto(args, space)
    values = arguments.reader(partial(axes, space, points=points, with_auto=args.with_auto), "--range")(choices)
    if args.design == "grid":
        settings = arguments.reader(grid, "--design")(values)
    else:
        settings = arguments.reader(partial(fill, values, seed=seed), "--settings")(args.settings)
    default = default_setting(space)
    return settings if args.no_default else [default, *(s for s in settings if s != default)]


def repeats_of(args: argparse.Namespace, quantities: frozenset[str]) -> Repeats:
    """How often each cell is measured.

    Raises:
        InputError: the target does not measure what has to be known, or the cap is below the least.
    """
    from bayop.experiments.sweep.repeats import LEAST_FOR_CI, MOST_FOR_CI, Repeats

    if args.until_ci is None:
        least = args.repeats or 1
        return Repeats(least, least)
    quantity = args.ci_of or args.slo.quantity
    if quantity not in quantities:
        hint = f"it measures {', '.join(sorted(quantities))}"
        raise InputError(wrong=f"the target does not measure {quantity}", value=quantity, place="--ci-of", hint=hint)
    least = args.repeats or LEAST_FOR_CI
    most = args.most_repeats or max(MOST_FOR_CI, least)
    if least > most:
        raise InputError("the most repeats must be no fewer than the least", value=most, place="--most-repeats")
    return Repeats(least, most, quantity, args.until_ci)


def processes_of(args: argparse.Namespace) -> int:
    """How many processes run trials: all processors for the twin, which computes; one for what only answers."""
    return int(args.processes or (os.cpu_count() or 1 if args.target == "twin" else 1))


def _add_design(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("design")
    group.add_argument(
        "--design", choices=("grid", "sobol"), default="grid", help="a grid, or points that fill the space evenly"
    )
    group.add_argument(
        "--points",
        type=arguments.reader(arguments.positive, "--points"),
        metavar="N",
        help="values of each knob, evenly spaced over the hardware's steps (default: 12 in a grid, all otherwise)",
    )
    group.add_argument(
        "--settings", type=arguments.reader(arguments.positive, "--settings"), metavar="N", help="sobol: how many"
    )
    group.add_argument(
        "--range",
        action="append",
        type=arguments.reader(_axis, "--range"),
        metavar="KNOB=LOW:HIGH[:STEP]|VALUE,...",
        help="the values of a knob, such as nic.rx_usecs=2:1ms:100us or cpu.freq_mhz=1.3GHz,2.1GHz,auto (repeatable)",
    )
    knobs = group.add_mutually_exclusive_group()
    knobs.add_argument(
        "--only", action="append", metavar="KNOB", help="sweep this knob alone; the rest stays auto (repeatable)"
    )
    knobs.add_argument("--with-auto", action="store_true", help="have auto among the values of every knob")
    group.add_argument("--no-default", action="store_true", help="leave out the default, in which every knob is auto")


def _add_repeats(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("repeats")
    group.add_argument(
        "--repeats",
        type=arguments.reader(arguments.positive, "--repeats"),
        metavar="N",
        help="measurements of each setting (default: 1; with --until-ci 3, and then more as needed)",
    )
    group.add_argument(
        "--until-ci",
        type=arguments.reader(_half_width, "--until-ci"),
        metavar="SHARE",
        help="repeat each setting until the 95 %% confidence interval of its mean latency is within this, such as 2%%",
    )
    group.add_argument("--ci-of", metavar="QUANTITY", help="... of this instead, such as power_w (default: the SLO's)")
    group.add_argument(
        "--most-repeats",
        type=arguments.reader(arguments.whole_number(2, 10_000), "--most-repeats"),
        metavar="N",
        help="... but at most so often (default: 30)",
    )


def _add_workers(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--processes",
        type=arguments.reader(arguments.whole_number(1, _MOST_PROCESSES), "--processes"),
        metavar="N",
        help="processes that run trials; results don't depend on it (default: one a processor for the twin, else 1)",
    )
    group.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="twin: run trials on a Ray cluster, such as 10.0.0.1:6379 or auto (pip install 'bayop[ray]')",
    )


def _axis(text: str) -> tuple[str, Range | tuple[str, ...]]:
    knob_id, _, values = text.partition("=")
    if ":" in values:
        return arguments.knob_range(text)
    if not knob_id or not values.strip():
        hint = "such as nic.rx_usecs=2:1002:100 or nic.rx_usecs=50,100us,auto"
        raise InputError("a range must be KNOB=LOW:HIGH[:STEP] or KNOB=VALUE,...", value=text, hint=hint)
    return knob_id, tuple(values.split(","))


def _half_width(text: str) -> float:
    value = arguments.share(text)
    if not 0.0 < value < 1.0:
        raise InputError("a half-width must be a share above 0 and below 1", value=text, hint="such as 2%")
    return value


def _study_file(text: str) -> Path:
    path = arguments.path(text)
    if not path.name.endswith(_GIVEN_BY_A_STUDY):
        raise InputError("a study must be written as .parquet, .csv or .csv.gz", value=text)
    return path
