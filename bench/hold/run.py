"""What a hold adds to a search: what is held after so many windows, judged on the truth.

On the cells of the published measurements and on servers of an unknown physics, where nothing here was fitted. Writes
raw.csv, summary.md and env.json into results/<date>-<kind of machine>/.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

# One thread a search: the computing time of an optimizer is that of one core. Set before numpy is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from bench.command import Results, flags_of, run_benchmark
from bench.hold.play import MAX_TRIALS, Play, Window, play
from bench.search.cells import find_cells
from bench.side_by_side import run_side_by_side
from rich.console import Console

_MODULE = "bench.hold.run"
UNKNOWN = "unknown physics"
EXAMPLES = """\
examples:
  python -m bench.hold.run ../shared/data --jobs 2
  python -m bench.hold.run ../shared/data --seeds 1 --servers 4 --windows 10 --out build/look
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and writes its results."""
    return run_benchmark(_MODULE, parser(), argv, _measured)


def _measured(args: argparse.Namespace, console: Console) -> Results:
    held = run_side_by_side(play, plan(args), args.jobs, console, label="holds", describe=lambda what: what.source)
    windows = [window for one in held for window in one]
    return Results({"raw": windows}, report(windows, args.windows))


def parser() -> argparse.ArgumentParser:
    """The flags."""
    result = flags_of(_MODULE, __doc__, examples=EXAMPLES)
    result.add_argument("data", type=Path, help="folder of study_memcached.csv and study_silo.csv")
    result.add_argument("--seeds", type=int, default=5, metavar="N", help="searches per cell (default: 5)")
    result.add_argument("--servers", type=int, default=40, metavar="N", help=f"of {UNKNOWN} (default: 40)")
    result.add_argument("--windows", type=int, default=60, metavar="N", help="to hold (default: 60)")
    result.add_argument("--jobs", type=int, default=1, metavar="N", help="searches at a time (default: 1)")
    return result


def plan(args: argparse.Namespace) -> list[Play]:
    """Every search, study by study.

    Raises:
        InputError: the data is not there.
    """
    studies = [
        Play(cell.study.stem.removeprefix("study_"), cell, seed, args.windows)
        for cell in find_cells(args.data)
        for seed in range(args.seeds)
    ]
    return studies + [Play(UNKNOWN, None, number, args.windows) for number in range(args.servers)]


def report(windows: Sequence[Window], most: int) -> str:
    """The summary: a table for each source."""
    parts = [
        "# What a hold adds",
        "",
        f"Least power under the SLO by `grey-box`, at most {MAX_TRIALS} trials, then held and polished. Regret is the",
        "true power of what is held after so many windows over that of the best setting, minus 1. Over the SLO, by",
        "more than 2 %, and where nothing is held, it counts as 100 %.",
        "",
        "| servers | holds | windows | regret median % | 95th percentile % | windows over the SLO % | ms a choice |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for source in dict.fromkeys(w.source for w in windows):
        own = [w for w in windows if w.source == source]
        parts += [_line(source, own, after) for after in sorted({0, most // 6, most // 2, most})]
    return "\n".join([*parts, ""])


def _line(source: str, windows: Sequence[Window], after: int) -> str:
    """One row: what is held after so many windows, or in the last one where a hold ended before."""
    last = {(w.name, w.seed): w for w in windows if w.window <= after}
    regrets = [w.regret_pct for w in last.values()]
    held = [w for w in windows if 0 < w.window <= after]
    over = f"{100 * np.mean([w.over for w in held]):.2f}" if held else "-"
    ms = f"{1000 * np.median([w.chosen_in_s for w in held]):.0f}" if held else "-"
    high = np.percentile(regrets, 95)
    return f"| {source} | {len(last)} | {after} | {np.median(regrets):.2f} | {high:.2f} | {over} | {ms} |"


if __name__ == "__main__":
    sys.exit(main())
