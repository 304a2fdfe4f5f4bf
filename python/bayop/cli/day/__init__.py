"""`bayop day`: a day of changing load on a real service of this machine, with and without `bayop run`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bayop import __version__
from bayop.cli.flags import arguments, rig
from bayop.cli.terminal.output import print_json
from bayop.cli.tune import events
from bayop.units import round_significant

if TYPE_CHECKING:
    from bayop.experiments.rig.day.play import RigDayPlan
    from bayop.experiments.rig.day.record import RigDay, Turn

EXAMPLE: Final = """\
  bayop day
  bayop day --minutes 12 --out build/day
  bayop day --hours 2 --minutes 1 --load-curve twitter-cluster2 --json
"""

OBJECTIVE: Final = "net_rx_per_s / qps"
"""Polls for a request: on a virtual machine no meter shows power, and its utilization is that of all that runs."""

_MOST_HOURS: Final = 24 * 7
_MOST_MINUTES: Final = 24 * 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    arguments.add_slo(parser, default="p90<500us")
    arguments.add_headroom(parser)
    arguments.add_objective(parser, default=OBJECTIVE)
    arguments.add_load_curve(parser, "scaled to --load")
    parser.add_argument(
        "--load",
        type=arguments.reader(arguments.qps, "--load"),
        default=8000.0,
        metavar="QPS",
        help="requests/s on memcached in the busiest hour (default: 8000)",
    )
    parser.add_argument(
        "--hours",
        type=arguments.reader(arguments.whole_number(1, _MOST_HOURS), "--hours"),
        default=24,
        metavar="N",
        help="how much of the load curve is played (default: 24)",
    )
    parser.add_argument(
        "--minutes",
        type=arguments.reader(arguments.whole_number(1, _MOST_MINUTES), "--minutes"),
        default=24,
        metavar="N",
        help="how long that takes (default: 24)",
    )
    rig.add_agent_program(parser)
    arguments.add_report_folder(parser, default="bayop-day")
    arguments.add_seed(parser)
    arguments.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Plays the day and writes the report; 1 when BayOp never held a setting."""
    from bayop.experiments.rig.day.play import RigDayPlan
    from bayop.experiments.rig.day.summary import held_share
    from bayop.experiments.rig.namespaces import Rig
    from bayop.files import make_folder
    from bayop.load.curve import LoadCurve

    curve = arguments.reader(LoadCurve.load, "--load-curve")(args.load_curve)
    plan = RigDayPlan(
        curve=curve.first(args.hours).scaled_to(args.load),
        hour_s=args.minutes * 60.0 / args.hours,
        slo=args.slo,
        objective=arguments.objective_of(args, args.slo).name,
        headroom=args.headroom or 0.0,
        seed=args.seed,
    )
    make_folder(args.out)
    with Rig(rig.program(args.agent_program, target="day"), qps=args.load, window_s=1.0) as machine:
        record = _play(args, plan, machine)
    return 0 if held_share(record) > 0.0 else 1


def _play(args: argparse.Namespace, plan: RigDayPlan, machine: Any) -> RigDay:  # noqa: ANN401 -- Rig is loaded late
    """Plays; whatever ends it, what was seen is written."""
    from bayop.experiments.rig.day.play import play_rig_day, record_of
    from bayop.report.rig_day.report import write_report

    record = record_of(plan, machine)
    display = _Events(record) if args.json else _display(record)
    with rig.recorded(record, args, display.on_data):
        play_rig_day(plan, machine, record, display)
    display.on_end(write_report(record, args.out, __version__))
    return record


class _Events:
    """The day for programs: one JSON object a line."""

    def __init__(self, record: RigDay) -> None:
        self._record = record
        start = {
            k: v for k, v in record.to_json().items() if k in ("machine", "slo", "objective", "curve", "hour_s", "seed")
        }
        more = {"hourly_qps": [round_significant(qps) for qps in record.hourly_qps]}
        print_json({"event": "start", **start, **more, "busy_before": record.busy_before})

    def on_page(self, url: str) -> None:
        print_json({"event": "page", "url": url})

    def on_turn(self, turn: Turn) -> None:
        from bayop.experiments.rig.day.summary import work_of

        work = work_of([turn])
        print_json(
            {
                "event": "turn",
                "hour": turn.hour,
                "who": turn.who,
                "qps": round_significant(turn.qps),
                "latency_us": round_significant(turn.latency_us),
                "requests": work.requests,
                "requests_over": work.over,
                "cpu_us": round_significant(work.cpu_us),
                "polls": round_significant(work.polls),
            }
        )

    def on_data(self, path: Path) -> None:
        print_json({"event": "data", "file": str(path), "failure": self._record.failure})

    def on_end(self, report: Path) -> None:
        from bayop.experiments.rig.day.summary import cpu_saving, held_share, polls_saving, turns_of, work_of

        day = self._record
        savings = {"cpu_saving": cpu_saving(day), "polls_saving": polls_saving(day)}
        over = {
            f"over_share_{who}": round_significant(work_of(turns_of(day, who)).over_share)
            for who in ("default", "bayop")
        }
        print_json(
            {
                "event": "result",
                **{name: None if saving is None else events.numbers(saving) for name, saving in savings.items()},
                **over,
                "searches": day.searches,
                "trials": day.trials,
                "held_share": round_significant(held_share(day)),
                "brain_cpu": round_significant(day.brain_cpu_s / day.duration_s),
                "restored": day.restored,
                "report": str(report),
            }
        )


def _display(record: RigDay) -> Any:  # noqa: ANN401 -- of the same shape as `_Events`
    from bayop.cli.day.display import Display  # `--json` must not pay for rich

    return Display(record)
