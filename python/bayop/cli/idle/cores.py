"""`bayop idle cores`: how each core of the twin spends its time over load, with and without the balancer."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import arguments
from bayop.cli.idle import flags
from bayop.cli.idle.shown import print_cells, save_figure
from bayop.cli.terminal.output import console, print_json, progress
from bayop.errors import InputError
from bayop.units import format_qps, round_significant

if TYPE_CHECKING:
    from bayop.experiments.idle.record import CoreUse

EXAMPLE: Final = """\
  bayop idle cores
  bayop idle cores --idle-governor bayop --loads 5k,20k,70k --json
  bayop idle cores --profile linux-memcached --loads 40k,120k,400k --out build/idle
"""

_OVERRIDDEN: Final = "overridden values"
"""Where the twin finds what is wrong with a value that a profile was given, and names no key."""
_BALANCER: Final = f"{_OVERRIDDEN}, key os.wake_balancer"
_LOADS_QPS: Final = tuple(1e3 * kqps for kqps in range(5, 75, 5))
"""The rates of [Y]'s trace."""
_REQUESTS: Final = 40_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "--idle-governor",
        default="yawn",
        metavar="NAME",
        help="what chooses idle states, such as menu, teo, yawn or bayop (default: %(default)s)",
    )
    parser.add_argument(
        "--loads",
        type=arguments.reader(_loads_qps, "--loads"),
        default=_LOADS_QPS,
        metavar="QPS,...",
        help="offered loads, such as 5k,10k,20k (default: 5k to 70k, the rates of [Y]'s trace)",
    )
    flags.add_twin(parser, requests=_REQUESTS)
    flags.add_figures(parser, "a heat map of every core over load")
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Simulates every load without and with the balancer, and prints how the cores spent their time."""
    from bayop.experiments.idle.cores import core_use
    from bayop.twin.profile_library import load_profile

    profile = load_profile(args.profile)
    uses: list[CoreUse] = []
    with progress("loads", len(args.loads)) as bar, _placed():
        for both in core_use(
            profile, args.idle_governor, args.loads, requests=args.requests, seed=args.seed, threads=args.threads
        ):
            uses += both
            bar.advance()
            if args.json:
                _print_events(both)
    if not args.json:
        from bayop.report.idle_tables import core_cells

        console().print(f"[bold]{profile.name}[/bold] under {args.idle_governor}", highlight=False)
        print_cells(core_cells(uses), "shares of time: of the first core, of the last", left="balancer")
        if over := dict.fromkeys(format_qps(use.qps) for use in uses if use.overloaded):
            console().print(f"Overloaded at {', '.join(over)}: less is served than offered.")
    if args.out is not None:
        from bayop.report.idle_cores import drawing

        save_figure(drawing(uses, f"{profile.name} under {args.idle_governor}"), args)
    return 0


@contextmanager
def _placed() -> Iterator[None]:
    """What does not fit the profile is the governor that was asked for, or the balancer, which nobody asks for."""
    try:
        yield
    except InputError as error:
        if error.place == _BALANCER:
            wrong, hint = "this server can't have the balancer that is compared here", "such as linux-memcached"
            raise error.but(wrong=wrong, value=None, place="--profile", hint=hint) from error
        raise (error.but(place="--idle-governor") if error.place == _OVERRIDDEN else error) from error


def _print_events(uses: Iterable[CoreUse]) -> None:
    for use in uses:
        print_json(
            {
                "event": "cores",
                "qps_offered": use.qps,
                "qps_served": None if use.qps_served is None else round_significant(use.qps_served),
                "overloaded": use.overloaded,
                "balancer": use.balancer,
                "power_w": round_significant(use.power_w),
                "operating": [round_significant(share) for share in use.operating],
                "residency": {
                    state: [round_significant(share) for share in shares] for state, shares in use.residency.items()
                },
            }
        )


def _loads_qps(text: str) -> tuple[float, ...]:
    loads = tuple(arguments.qps(part.strip()) for part in text.split(","))
    if len(set(loads)) < len(loads):
        raise InputError("each load must be named once", value=text)
    return loads
