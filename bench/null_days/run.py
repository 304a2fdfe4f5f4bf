"""Days on the rig with nothing to gain (A/A): does `bayop run` say that it saves something?

A real memcached under a day's load, the real agent, and a real `bayop run` in mode apply. What that knows and holds is
what the machine has of its own, so that its switchbacks compare the default with the default. In the evening it says
what was saved, with its 95 % interval. Power is the agent's estimate by the utilization of the whole machine, other
work on it included.

Each day is written as soon as it is over, so that a run that is broken off keeps those.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Final

from bench.command import collect, count, flags_of
from bench.null_days.play import Day, play

from bayop.experiments.rig.namespaces import Rig
from bayop.load.curve import DAY_H, LoadCurve

_MODULE: Final = "bench.null_days.run"
PEAK_QPS: Final = 8000.0
_COLUMNS: Final = (
    "days", "held a day s", "switchbacks a day", "default W", "half of the interval W, median", "say a saving",
    "say a loss", "let go",
)  # fmt: skip
EXAMPLES: Final = """\
example, as root:
  cargo build --release --package bayop-agent && python -m bench.null_days.run target/release/bayop-agent
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and writes its results."""
    flags = flags_of(_MODULE, __doc__, examples=EXAMPLES)
    flags.add_argument("agent", type=Path, help="the release build")
    flags.add_argument("--days", type=count, default=20, metavar="N", help="how many (default: 20)")
    flags.add_argument("--hours", type=count, default=6, metavar="N", help="the hours of a day (default: 6)")
    flags.add_argument("--hour-s", type=float, default=13.0, metavar="S", help="what one takes, in s (default: 13)")
    return collect(_MODULE, flags, argv, measured, say=said, table=table, as_it_goes=True)


def measured(args: argparse.Namespace) -> Iterator[Day]:
    """One day after the other."""
    hourly_qps = hours_of_a_day(args.hours)
    with Rig(args.agent.resolve(), qps=PEAK_QPS, window_s=None) as rig:
        for number in range(1, args.days + 1):
            yield play(rig, number, hourly_qps, args.hour_s)


def hours_of_a_day(hours: int) -> list[float]:
    """The load of a whole day in so many steps."""
    curve = LoadCurve.built_in().scaled_to(PEAK_QPS)
    return [curve.hourly_qps[hour * DAY_H // hours % DAY_H] for hour in range(hours)]


def said(day: Day) -> str:
    """What people are told of a day."""
    what = "a saving" if day.says_saving else "a loss" if day.says_loss else "nothing"
    return f"day {day.number}: says {what}; {_interval(day)} by {day.switchbacks} switchbacks"


def table(days: Sequence[Day]) -> str:
    """The summary: what all days say together."""
    watts = [day.default_w for day in days if day.default_w is not None]
    halves_w = [(day.high_w - day.low_w) / 2 for day in days if day.low_w is not None and day.high_w is not None]
    cells = [
        str(len(days)),
        f"{fmean(day.held_s for day in days):.0f}",
        f"{fmean(day.switchbacks for day in days):.1f}",
        f"{fmean(watts):.1f}" if watts else "-",
        f"{median(halves_w):.2f}" if halves_w else "-",
        str(sum(day.says_saving for day in days)),
        str(sum(day.says_loss for day in days)),
        str(sum(day.let_go for day in days)),
    ]
    return f"| {' | '.join(_COLUMNS)} |\n{'|---:' * len(_COLUMNS)}|\n| {' | '.join(cells)} |\n"


def _interval(day: Day) -> str:
    if day.saved_w is None or day.low_w is None or day.high_w is None:
        return "no interval"
    return f"{day.saved_w:.2f} W saved ({day.low_w:.2f} to {day.high_w:.2f})"


if __name__ == "__main__":
    sys.exit(main())
