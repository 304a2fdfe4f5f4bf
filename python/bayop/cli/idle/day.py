"""`bayop idle day`: a day of changing load on the twin under idle governors, beside what [Y] published of it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bayop.cli.flags import arguments
from bayop.cli.idle import flags
from bayop.cli.idle.shown import print_cells, save_figure
from bayop.cli.terminal.output import console, print_json, progress
from bayop.errors import InputError
from bayop.units import round_significant

if TYPE_CHECKING:
    from bayop import _core
    from bayop.experiments.idle.record import Day, Step, Total, Window
    from bayop.slo import Slo

EXAMPLE: Final = """\
  bayop idle day
  bayop idle day twitter-cluster2 --peak 400k --profile linux-memcached --json
  bayop idle day ../shared/data/yawn_trace_by_minute.csv --slo 'p99<150us' --out build/idle
"""

_PEAK_QPS: Final = 70e3
"""The greatest rate of [Y]'s trace."""
_REQUESTS: Final = 20_000
_SLO: Final = "p99<200us"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument(
        "curve",
        nargs="?",
        default="twitter",
        metavar="CURVE",
        help="the load: twitter, twitter-cluster1, twitter-cluster2, a CSV file with the columns hour and qps_mean, or "
        "[Y]'s yawn_trace_by_minute.csv, beside whose minutes stands what was published (default: %(default)s)",
    )
    parser.add_argument(
        "--peak",
        type=arguments.reader(arguments.qps, "--peak"),
        metavar="QPS",
        help="the load of the busiest hour of a curve (default: 70k); [Y]'s trace is played as it is",
    )
    arguments.add_slo(parser, _SLO)
    flags.add_twin(parser, requests=_REQUESTS)
    flags.add_figures(parser, "load, latency and power over time")
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Plays the day under every policy, and prints what each took and how long it was over the SLO."""
    from bayop.experiments.idle.day import POLICIES, play_day
    from bayop.experiments.idle.record import Day
    from bayop.twin.profile_library import load_profile

    profile = load_profile(args.profile)
    _check_measured(profile, args.slo)
    steps = _steps(args.curve, args.peak, args.slo)
    windows: list[Window] = []
    with progress("windows", len(steps) * len(POLICIES)) as bar:
        for some in play_day(profile, steps, args.slo, requests=args.requests, seed=args.seed, threads=args.threads):
            windows += some
            for window in some:
                bar.advance()
                if args.json:
                    print_json(_window_event(window))
    day = Day(profile.name, Path(args.curve).name, args.slo, windows)
    if args.json:
        _print_totals(day)
    else:
        _print(day)
    if args.out is not None:
        from bayop.report.idle_day import drawing

        save_figure(drawing(day), args)
    return 0


def _check_measured(profile: _core.Profile, slo: Slo) -> None:
    from bayop.twin.windows import quantities_of

    if slo.quantity not in quantities_of(profile):
        hint = "such as p99<200us"
        raise InputError(wrong=f"the twin does not measure {slo.quantity}", value=str(slo), place="--slo", hint=hint)


def _steps(curve: str, peak_qps: float | None, slo: Slo) -> list[Step]:
    """The day that was asked for."""
    from bayop.experiments.idle.day import is_published_trace, steps_of_curve, steps_of_trace
    from bayop.load.curve import LoadCurve

    if is_published_trace(curve):
        if peak_qps is not None:
            raise InputError("a published trace must be played at its own rates", value=peak_qps, place="--peak")
        return steps_of_trace(Path(curve), slo)
    return steps_of_curve(arguments.reader(LoadCurve.load, "CURVE")(curve).scaled_to(peak_qps or _PEAK_QPS))


def _window_event(window: Window) -> dict[str, object]:
    step, published, served = window.step, window.published, window.simulated.qps_served
    return {
        "event": "window",
        "policy": window.policy,
        "start_s": step.start_s,
        "duration_s": step.duration_s,
        "qps_offered": round_significant(step.qps),
        "qps_served": None if served is None else round_significant(served),
        "overloaded": window.simulated.overloaded,
        "power_w": round_significant(window.simulated.power_w),
        "latency_us": round_significant(window.simulated.latency_us),
        "cut_short": window.simulated.cut_short,
        "published_power_w": None if published is None else round_significant(published.power_w),
        "published_latency_us": None if published is None else round_significant(published.latency_us),
    }


def _print_totals(day: Day) -> None:
    for policy in day.policies:
        simulated, published = day.simulated(policy), day.published(policy)
        print_json(
            {
                "event": "total",
                "policy": policy,
                "slo": str(day.slo),
                "duration_s": day.duration_s,
                "overloaded_share": round_significant(simulated.overloaded_share),
                "simulated": _numbers(simulated),
                "published": None if published is None else _numbers(published),
            }
        )


def _numbers(total: Total) -> dict[str, object]:
    names = ("energy_j", "power_w", "worst_us", "over_share")
    return {name: round_significant(getattr(total, name)) for name in names} | {"cut_short": total.cut_short}


def _print(day: Day) -> None:
    """Totals for people; in brackets what was published."""
    from bayop.report.idle_tables import day_cells, overload_lines

    console().print(f"[bold]{day.server}[/bold], {day.duration_s / 3600:g} h of {day.curve}", highlight=False)
    print_cells(day_cells(day), "in brackets: as published by [Y]" if day.is_published else None, left="")
    for line in overload_lines(day):
        console().print(line, highlight=False)
