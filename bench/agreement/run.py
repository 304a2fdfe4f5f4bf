"""How often does our menu choose what a kernel's own menu chose?

Takes stays that `bench.agreement.record` recorded from a real kernel, tells our governors at each what the kernel knew,
and what came of the kernel's choice, and counts where they choose as it did. Writes agreement.csv and summary.md.

Example:
  python -m bench.agreement.run bench/agreement/results/2026-11-25-2cpu-x86_64
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from bench.rows import write_rows

from bayop.idle.machines import OWN, Machine, machine
from bayop.idle.replay import follow
from bayop.idle.trace import Trace, read_trace

SUBJECT: Final = "menu"
OTHERS: Final = ("menu-4.4", "teo", "ladder", "bayop")
"""How much of the agreement is menu's own: these choose otherwise."""


@dataclass(frozen=True, slots=True)
class Row:
    """A governor on one CPU's recording.

    Attributes:
        same: Share of stays for which it chose the kernel's state.
        deeper: Share for which it chose a deeper one.
    """

    trace: str
    governor: str
    stays: int
    same: float
    deeper: float


def rows(traces: Sequence[Trace], on: Machine) -> Iterator[Row]:
    """A row for each trace and governor, and last those of all traces together."""
    for governor in (SUBJECT, *OTHERS):
        choices = [np.array(follow(trace, governor, on)) for trace in traces]
        for trace, counts in zip(traces, choices, strict=True):
            yield _row(trace.name, governor, counts)
        yield _row("all", governor, np.sum(choices, axis=0))


def _row(trace: str, governor: str, counts: np.ndarray) -> Row:
    stays = int(counts.sum())
    same, deeper = (float(part.sum() / max(stays, 1)) for part in (counts.diagonal(), np.triu(counts, 1)))
    return Row(trace, governor, stays, same, deeper)


def summary(found: Sequence[Row], traces: Sequence[Trace], on: Machine) -> str:
    """Markdown: the agreement by governor, and what menu chose where the kernel chose each state."""
    lines = ["| governor | stays | same | deeper | shallower |", "|---|---:|---:|---:|---:|"]
    for row in found:
        if row.trace == "all":
            shallower = 1.0 - row.same - row.deeper
            lines.append(f"| {row.governor} | {row.stays} | {row.same:.1%} | {row.deeper:.1%} | {shallower:.1%} |")
    names = [state.name for state in on.states]
    counts = np.sum([np.array(follow(trace, SUBJECT, on)) for trace in traces], axis=0)
    lines += ["", "| the kernel chose | " + " | ".join(f"our menu: {name}" for name in names) + " |"]
    lines.append("|---" + "|---:" * len(names) + "|")
    lines += [f"| {name} | " + " | ".join(map(str, row)) + " |" for name, row in zip(names, counts, strict=True)]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="what `bench.agreement.record` wrote")
    args = parser.parse_args()
    on = machine(OWN, root=args.folder / "machine")
    traces = [read_trace(path) for path in sorted(args.folder.glob("*.csv.gz"))]
    found = list(rows(traces, on))
    text = summary(found, traces, on)
    write_rows(args.folder / "agreement.csv", found)
    (args.folder / "summary.md").write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
