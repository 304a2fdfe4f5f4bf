"""Optimizers side by side on published measurements.

Every optimizer searches the same cells (an operating system under one load of a study, with one SLO) for the least
power under the SLO, with the papers' budget of 30 trials. The study answers with measurement noise; what was tried and
what was held is judged on the true surface. Writes raw.csv, summary.md and env.json into
results/<date>-<kind of machine>/.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

# One thread a search: the computing time of an optimizer is that of one core. Set before numpy is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from bench.command import Results, chosen, flags_of, run_benchmark
from bench.search.cells import find_cells
from bench.search.contestants import CONTESTANTS, OPTUNA
from bench.search.records import Record, Search, run
from bench.search.summary import by_cell, markdown, summarise
from bench.side_by_side import run_side_by_side
from rich.console import Console

from bayop.errors import InputError

_MODULE = "bench.search.run"
SLOW = ("ax", "ax-constrained", OPTUNA)
EXAMPLES = """\
examples:
  python -m bench.search.run ../shared/data
  python -m bench.search.run ../shared/data --optimizers grey-box,random --seeds 2 --cells 'linux 600K' --out build/look
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and writes its results."""
    return run_benchmark(_MODULE, parser(), argv, _measured)


def _measured(args: argparse.Namespace, console: Console) -> Results:
    searches = list(plan(args))
    searched = run_side_by_side(
        run, searches, args.jobs, console, label="searches", describe=lambda s: f"{s.cell.name}, {s.optimizer}"
    )
    records = [record for search in searched for record in search]
    return Results({"raw": records}, report(records, args))


def parser() -> argparse.ArgumentParser:
    """The flags."""
    result = flags_of(_MODULE, __doc__, examples=EXAMPLES)
    result.add_argument("data", type=Path, help="folder of study_memcached.csv and study_silo.csv")
    result.add_argument(
        "--optimizers", default=",".join(CONTESTANTS), metavar="NAMES", help="comma-separated (default: all)"
    )
    result.add_argument("--seeds", type=int, default=20, metavar="N", help="searches per cell (default: 20)")
    result.add_argument(
        "--slow-seeds", type=int, default=3, metavar="N", help=f"the same for {', '.join(SLOW)} (default: 3)"
    )
    result.add_argument("--trials", type=int, default=30, metavar="N", help="budget of a search (default: 30)")
    result.add_argument("--cells", default="", metavar="TEXT", help="only cells whose name holds this text")
    result.add_argument("--jobs", type=int, default=1, metavar="N", help="searches at a time (default: 1)")
    return result


def plan(args: argparse.Namespace) -> Iterator[Search]:
    """Every search, cell by cell, so that all optimizers meet the same machine in the same mood.

    Raises:
        InputError: the data, an optimizer or a cell is not there.
    """
    names = chosen(args.optimizers, CONTESTANTS, what="optimizer", flag="--optimizers")
    cells = [cell for cell in find_cells(args.data) if args.cells in cell.name]
    if not cells:
        raise InputError(wrong=f"no cell's name holds {args.cells!r}", value=args.cells, place="--cells")
    for cell in cells:
        for name in names:
            for seed in range(args.slow_seeds if name in SLOW else args.seeds):
                yield Search(cell, name, seed, args.trials)


def report(records: Sequence[Record], args: argparse.Namespace) -> str:
    """The summary: all cells together, then each."""
    parts = [
        "# Optimizers side by side",
        "",
        f"Least power under the SLO on published measurements, at most {args.trials} trials a search. A setting is",
        "good when its true power is within 1 % of the best one's that meets the SLO; `trials to within 1 %` is the",
        "median over searches of the trials after which what was held was good and stayed so. A trial or a final",
        "setting is over the SLO when its true p99 is, by more than 2 %; a final setting over it counts as 100 %",
        "regret. All optimizers searched the same cells; the number of seeds shows in `searches`.",
        "",
        markdown("All cells", summarise(records)),
    ]
    parts += [markdown(name, summarise(rows)) for name, rows in by_cell(records).items()]
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
