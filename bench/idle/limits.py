"""What do limits of the depth save where a kernel's governor chooses (`bayop idle govern`)?

Menu and teo choose on recorded idle periods and synthetic ones, as in `bench.idle.run`; every second of a trace is a
window, after which `bayop.idle.depth` chooses a limit, and what the governor chooses in the next second is cut down to
it. Energies follow from the real lengths of the stays, not from their bins.

Example:
  python -m bench.idle.limits --data ../shared/data
"""

from __future__ import annotations

import argparse
import itertools
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import Final

from bench.command import Results, flags_of, run_benchmark
from bench.idle.run import ON, is_synthetic, traces
from rich.console import Console

from bayop.idle.depth import Depth, StayEnergy
from bayop.idle.machines import MACHINES, Machine
from bayop.idle.replay import choices
from bayop.idle.trace import Trace

_MODULE: Final = "bench.idle.limits"

BOUNDS_US: Final = (0.0, *(1.024 * half * 2.0**octave for octave in range(1, 16) for half in (1.0, 1.5)))
"""Where the bins of `bayop-idle-count` begin, but for one into which nothing falls."""

GOVERNORS: Final = ("menu", "teo")
GOALS: Final = ({"price": 0.1}, {"price": 0.3}, {"price": 0.5}, {"price": 0.0, "limit_us": 50.0})


@dataclass(frozen=True, slots=True)
class Row:
    """One trace on one machine.

    Attributes:
        machine: Whose idle states.
        trace: Its name.
        governor: Who chooses.
        goal: What limits it.
        energy: With limits over without.
        latency_us: Of a wake-up, on average, without limits.
        limited_latency_us: With them.
        late_share: Of the wake-ups, those later than the limit of latency.
        changes: How often the limit changed.
        windows: In so many seconds.
    """

    machine: str
    trace: str
    governor: str
    goal: str
    energy: float
    latency_us: float
    limited_latency_us: float
    late_share: float
    changes: int
    windows: int


def main(argv: Sequence[str] | None = None) -> int:
    """Plays every trace and writes the results."""
    flags = flags_of(_MODULE, __doc__)
    flags.add_argument("--data", type=Path, required=True, metavar="DIR", help="the recorded traces")
    return run_benchmark(_MODULE, flags, argv, _measured)


def _measured(args: argparse.Namespace, _: Console) -> Results:
    rows = list(play(traces(args.data)))
    return Results({"limits": rows}, table(rows))


def play(played: Sequence[Trace]) -> Iterator[Row]:
    """Every trace on every machine under every governor."""
    for name, governor, trace in itertools.product(ON, GOVERNORS, played):
        stays = choices(trace, governor, MACHINES[name])
        for goal in GOALS:
            yield limited(MACHINES[name], trace.name, governor, stays, goal)


def limited(
    machine: Machine, trace: str, governor: str, stays: Sequence[tuple[float, int, int]], goal: dict[str, float]
) -> Row:
    """What limits make of a governor's stays: when each began (s), its state and its length (us)."""
    states = machine.states
    energy = StayEnergy(states)
    depth = Depth(states, BOUNDS_US, price=goal["price"], limit_us=goal.get("limit_us"))
    energy_us, latency_us = [0.0, 0.0], [0.0, 0.0]
    late = changes = windows = 0
    for _, window in itertools.groupby(stays, key=lambda stay: int(stay[0])):
        seen: Counter[tuple[int, int]] = Counter()
        for _, wish, length_us in window:
            state = min(wish, depth.deepest)
            seen[state, bisect_right(BOUNDS_US, length_us) - 1] += 1
            for with_limits, index in enumerate((wish, state)):
                energy_us[with_limits] += energy.us(index, length_us)
                latency_us[with_limits] += states[index].exit_latency_us
            late += states[state].exit_latency_us > goal.get("limit_us", float("inf"))
        changes += depth.see(seen)
        windows += 1
    return Row(
        machine=machine.name,
        trace=trace,
        governor=governor,
        goal=f"limit {goal['limit_us']:g} us" if "limit_us" in goal else f"price {goal['price']:g}",
        energy=energy_us[1] / energy_us[0],
        latency_us=latency_us[0] / len(stays),
        limited_latency_us=latency_us[1] / len(stays),
        late_share=late / len(stays),
        changes=changes,
        windows=windows,
    )


def table(rows: Sequence[Row]) -> str:
    """Means over machines and traces in Markdown: of all, and of the recorded ones alone."""
    lines = [
        "| governor | goal | energy | us a wake-up | recorded: energy | us a wake-up | over 1 % more | changes/min |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for governor, goal in sorted({(row.governor, row.goal) for row in rows}):
        own = [row for row in rows if (row.governor, row.goal) == (governor, goal)]
        recorded = [row for row in own if not is_synthetic(row.trace)]
        more = f"{sum(row.energy > 1.01 for row in own)} of {len(own)}"
        changes_per_min = 60 * sum(row.changes for row in own) / sum(row.windows for row in own)
        cells = [governor, goal, *_means(own), *_means(recorded), more, f"{changes_per_min:.1f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _means(rows: Sequence[Row]) -> tuple[str, str]:
    before, after = (fmean(getattr(row, name) for row in rows) for name in ("latency_us", "limited_latency_us"))
    return f"{geometric_mean(row.energy for row in rows):.3f}", f"{before:.0f} to {after:.0f}"


if __name__ == "__main__":
    sys.exit(main())
