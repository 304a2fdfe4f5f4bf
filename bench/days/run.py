"""How near does `bayop run` stay to the best setting of every minute, over days of load, and what do clients bear?

Plays days of the published traces minute by minute on the twin, memcached and silo on Linux, as they are and with flash
crowds (twice the load from one minute to the next, four times a day), and judges them by the best static setting of
every minute. The controller behaves as `bayop run` does where its file says nothing, without switchbacks, whose share
of the time is the operator's choice. Writes raw.csv, summary.md and env.json into results/<date>-<kind of machine>/.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Final

# One thread a day: the computing time of an optimizer is that of one core. Set before numpy is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from bench.command import Results, flags_of, run_benchmark
from bench.days.curves import CROWD, read_days
from bench.days.play import Day, Play, play
from bench.days.yardstick import Yardstick
from bench.side_by_side import run_side_by_side
from rich.console import Console

from bayop.experiments.day.play import PEAK_QPS
from bayop.objective import Objective
from bayop.slo import Slo
from bayop.twin.oracle import TwinOracle

_MODULE: Final = "bench.days.run"
SLO: Final = "p99<500us"
REQUESTS: Final = 480_000
EXAMPLES: Final = """\
examples:
  python -m bench.days.run ../shared/data --jobs 2
  python -m bench.days.run ../shared/data --seeds 1 --app memcached --out build/look
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and writes its results."""
    return run_benchmark(_MODULE, parser(), argv, _measured)


def _measured(args: argparse.Namespace, console: Console) -> Results:
    plays = list(plan(args))
    days = run_side_by_side(play, plays, args.jobs, console, label="days", describe=lambda what: what.curve.name)
    return Results({"raw": days}, report(days))


def parser() -> argparse.ArgumentParser:
    """The flags."""
    result = flags_of(_MODULE, __doc__, examples=EXAMPLES)
    result.add_argument("data", type=Path, help="folder of trace_twitter_cluster1_hourly.csv and cluster2's")
    result.add_argument("--app", choices=PEAK_QPS, action="append", help="only this service")
    result.add_argument("--seeds", type=int, default=10, metavar="N", help="days of each kind (default: 10)")
    result.add_argument("--first-seed", type=int, default=0, metavar="N", help="default: 0")
    result.add_argument(
        "--requests",
        type=int,
        default=REQUESTS,
        metavar="N",
        help="so many of each minute's 5 to 45 million are modelled; fewer make its p99 uncertain, and what is sure to "
        f"meet the SLO dearer (default: {REQUESTS})",
    )
    result.add_argument("--plain", action="store_true", help="nothing follows the load between two searches")
    result.add_argument("--jobs", type=int, default=1, metavar="N", help="days at a time (default: 1)")
    return result


def plan(args: argparse.Namespace) -> Iterator[Play]:
    """Every day, with and without crowds. A seed is a day of the traces, and whatever else is random in it.

    Raises:
        InputError: the traces are not there.
    """
    days, objective = read_days(args.data), Objective.parse("power", Slo.parse(SLO))
    for app in args.app or PEAK_QPS:
        peak_qps = PEAK_QPS[app]
        yardstick = Yardstick.measure(TwinOracle(f"linux-{app}"), objective, peak_qps, threads=args.jobs)
        for seed in range(args.first_seed, args.first_seed + args.seeds):
            day = days[seed % len(days)]
            for curve in (day.scaled_to(peak_qps), day.scaled_to(peak_qps / CROWD).with_crowds(seed)):
                yield Play(app, curve, SLO, yardstick, seed, follow=not args.plain, requests=args.requests)


def report(days: Sequence[Day]) -> str:
    """The summary: a row for each service and kind of day."""
    parts = [
        "# Days on the twin",
        "",
        f"Least power under {SLO}, loads by the minute. Medians over days: what is saved of the default's energy, the",
        "best static setting of every minute's saving, the share of that, hours in windows over the SLO (of those, in",
        "trials), requests over the SLO, trials, and windows that were fallen back to.",
        "",
        "| service | days | saved % | bound % | share % | over h | trials h | requests over % | trials | fell back |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for app, crowds in dict.fromkeys((day.app, day.crowds) for day in days):
        own = [day for day in days if (day.app, day.crowds) == (app, crowds)]
        cells = (
            f"{100 * median(d.saving for d in own):.2f}",
            f"{100 * median(d.bound_saving for d in own):.2f}",
            f"{100 * median(d.share for d in own):.1f}",
            f"{median(d.over_h for d in own):.2f}",
            f"{median(d.over_trial_h for d in own):.2f}",
            f"{100 * median(d.requests_over for d in own):.2f}",
            f"{median(d.trials for d in own):g}",
            f"{median(d.fall_backs for d in own):g}",
        )
        parts.append(f"| {app}{', flash crowds' if crowds else ''} | {len(own)} | {' | '.join(cells)} |")
    return "\n".join([*parts, ""])


if __name__ == "__main__":
    sys.exit(main())
