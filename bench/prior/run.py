"""What a class of servers is worth to a search, and what a wrong one costs it.

Searches the cells of the published measurements and servers of an unknown physics (bench.search, bench.unknown) with
the same seeds: without a class; with one that was learned from servers of their kind and not from themselves; from
another kind; and with nonsense. Writes raw.csv, summary.md and env.json into results/<date>-<kind of machine>/.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

# One thread a search: the computing time of an optimizer is that of one core. Set before numpy is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from bench.command import Results, flags_of, run_benchmark
from bench.prior.classes import drawn_lesson, nonsense, study_lessons
from bench.prior.play import Play, play
from bench.prior.table import NOTHING, markdown, summarise
from bench.search.cells import STUDIES, find_cells
from bench.side_by_side import run_side_by_side
from bench.unknown.play import MAX_TRIALS
from bench.unknown.traits import POPULATION
from rich.console import Console

from bayop.optimize.grey_box.learn import learn
from bayop.optimize.server_class import ServerClass
from bayop.slo import Slo

_MODULE: Final = "bench.prior.run"
PUBLISHED: Final = "published"
SCENARIOS: Final = ("as the prior expects", "residual 40 %", POPULATION)
_SLO: Final = Slo(0.99, 500.0)
# Numbers of the servers that are learned from: none of those that are searched.
_TEACHERS: Final = range(1000, 1030)
EXAMPLES = """\
examples:
  python -m bench.prior.run ../shared/data
  python -m bench.prior.run ../shared/data --seeds 2 --servers 10 --out build/prior
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and writes its results."""
    return run_benchmark(_MODULE, parser(), argv, _measured)


def _measured(args: argparse.Namespace, console: Console) -> Results:
    plays = [*published(args.data, args.seeds), *unknown(args.servers)]
    outcomes = run_side_by_side(play, plays, args.jobs, console, label="searches", describe=lambda what: what.suite)
    return Results({"raw": outcomes}, "\n".join([*_HEAD, markdown(summarise(outcomes)), ""]))


def parser() -> argparse.ArgumentParser:
    """The flags."""
    result = flags_of(_MODULE, __doc__, examples=EXAMPLES)
    result.add_argument("data", type=Path, help="folder of study_memcached.csv and study_silo.csv")
    result.add_argument("--seeds", type=int, default=8, metavar="N", help="searches per published cell (default: 8)")
    result.add_argument("--servers", type=int, default=80, metavar="N", help="of each scenario (default: 80)")
    result.add_argument("--jobs", type=int, default=1, metavar="N", help="searches at a time (default: 1)")
    return result


def published(data: Path, seeds: int) -> Iterator[Play]:
    """The cells of the published studies; what is learned of a cell's own service leaves out its own load.

    Raises:
        InputError: the data is not there.
    """
    lessons = {name: study_lessons(data / name, _SLO) for name in STUDIES}
    for cell in find_cells(data):
        own = [x for key, x in lessons[cell.study.name].items() if key != (cell.os, cell.qps)]
        other = [x for name in STUDIES if name != cell.study.name for x in lessons[name].values()]
        known = {"its service, other loads": learn(own), "the other service": learn(other)}
        for name, server_class in _with_controls(known).items():
            for seed in range(seeds):
                yield Play(PUBLISHED, cell, seed, name, server_class)


def unknown(count: int) -> Iterator[Play]:
    """Servers of the scenarios, with what other servers of theirs have taught, and with what those of the next have."""
    taught = {s: learn([x for n in _TEACHERS if (x := drawn_lesson(s, n)) is not None]) for s in SCENARIOS}
    for scenario, other in zip(SCENARIOS, (*SCENARIOS[1:], SCENARIOS[0]), strict=True):
        known = {"its scenario, other servers": taught[scenario], f"{other}": taught[other]}
        for name, server_class in _with_controls(known).items():
            for number in range(count):
                yield Play(scenario, number, number, name, server_class)


def _with_controls(known: Mapping[str, ServerClass]) -> dict[str, ServerClass | None]:
    return {NOTHING: None, **known, "nonsense": nonsense()}


_HEAD: Final = (
    "# Learning between searches",
    "",
    f"Least power under the SLO, at most {MAX_TRIALS} trials a search, with a class of servers as one more hypothesis.",
    "A trial is over the SLO when its true p99 is, by more than 2 %. Regret is the power of what is held over the",
    "best's, minus 1; what breaks the SLO, and nothing held, count as 100 %. Changes are against the same searches",
    "without a class, with their standard errors. `its service, other loads` leaves out what is searched.",
    "",
)


if __name__ == "__main__":
    sys.exit(main())
