"""`bayop demo`: a day of changing load on the digital twin, with and without BayOp, and a report about it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from bayop import __version__
from bayop.cli.flags import arguments
from bayop.cli.terminal.output import print_json
from bayop.units import round_significant

if TYPE_CHECKING:
    from bayop.experiments.day.play import DayPlan
    from bayop.experiments.day.record import DayRecord
    from bayop.target.oracle import Oracle

EXAMPLE: Final = """\
  bayop demo
  bayop demo --slo 'p99<200us' --trigger load,breach --out tight
  bayop demo --app silo --objective latency --load-curve twitter-cluster2
"""

_APPS: Final = ("memcached", "silo")
_MOST_HOURS: Final = 24 * 366


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument("--app", choices=_APPS, default="memcached", help="the service (default: memcached)")
    arguments.add_slo(parser)
    arguments.add_headroom(parser)
    arguments.add_objective(parser)
    arguments.add_load_curve(parser, "scaled to the service's peak")
    parser.add_argument(
        "--hours",
        type=arguments.reader(arguments.whole_number(1, _MOST_HOURS), "--hours"),
        default=24,
        metavar="N",
        help="how much of the load curve is played; it repeats itself (default: 24)",
    )
    parser.add_argument(
        "--trigger",
        default="clock,breach",
        metavar="NAME,...",
        help="what starts a search: clock (every hour), load (a change), breach (of the SLO), or several "
        "(default: clock,breach)",
    )
    arguments.add_with_ebbrt(parser)
    arguments.add_report_folder(parser, default="bayop-demo")
    arguments.add_seed(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Plays the day and writes the report; 1 when BayOp on Linux found nothing that meets the SLO at some load."""
    from bayop.experiments.day.play import SYSTEMS, play_day
    from bayop.files import make_folder
    from bayop.report.day.report import write_report
    from bayop.search import check_measured
    from bayop.twin.oracle import TwinOracle

    plan = _plan(args)
    systems = SYSTEMS if args.with_ebbrt else SYSTEMS[:1]
    oracles = {system: TwinOracle(f"{system}-{args.app}") for system in systems}
    for oracle in oracles.values():
        check_measured(oracle, plan.objective)
    make_folder(args.out)
    if args.json:
        print_json(_start_event(plan, oracles))
        record = play_day(plan, oracles)
        report = write_report(record, args.out, __version__)
        for event in _run_events(record):
            print_json(event)
        print_json({"event": "result", "report": str(report)})
    else:
        from bayop.cli.demo.display import show_day  # `--json` must not pay for rich

        record = show_day(plan, oracles, args.out)
    bayop = record.run("bayop-linux")
    return 0 if bayop is not None and all(search.setting is not None for search in bayop.searches) else 1


def _plan(args: argparse.Namespace) -> DayPlan:
    from bayop.control.triggers import parse_trigger
    from bayop.experiments.day.play import PEAK_QPS, WINDOW_REQUESTS, DayPlan
    from bayop.experiments.day.sweep import Effort
    from bayop.load.curve import LoadCurve

    curve = arguments.reader(LoadCurve.load, "--load-curve")(args.load_curve)
    return DayPlan(
        app=args.app,
        objective=arguments.objective_of(args, args.slo),
        headroom=args.headroom or 0.0,
        curve=curve.first(args.hours).scaled_to(PEAK_QPS[args.app]),
        trigger=arguments.reader(parse_trigger, "--trigger")(args.trigger),
        trigger_name=args.trigger,
        seed=args.seed,
        requests=WINDOW_REQUESTS,
        effort=Effort.usual(os.cpu_count() or 1),
    )


def _start_event(plan: DayPlan, oracles: Mapping[str, Oracle]) -> dict[str, object]:
    return {
        "event": "start",
        "app": plan.app,
        "slo": str(plan.objective.slo),
        "objective": plan.objective.name,
        "trigger": plan.trigger_name,
        "seed": plan.seed,
        "hourly_qps": [round_significant(q) for q in plan.curve.hourly_qps],
        "machines": {system: oracle.description for system, oracle in oracles.items()},
    }


def _run_events(record: DayRecord) -> list[dict[str, object]]:
    from bayop.experiments.day.summary import summarize

    return [
        {
            "event": "run",
            "run": row.id,
            "energy_j": round_significant(row.energy_j),
            "saving": round_significant(row.saving),
            "latency_us": round_significant(row.latency_us),
            "hours_over": round_significant(row.hours_over),
            "requests": round_significant(row.requests, 9),
            "requests_over": round_significant(row.requests_over, 9),
            "searches": row.searches,
            "trials": row.trials,
            "bound_share": None if row.bound_share is None else round_significant(row.bound_share),
        }
        for row in summarize(record)
    ]
