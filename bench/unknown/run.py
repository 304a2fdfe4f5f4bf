"""Searches of servers whose physics no model here was made for, and of servers that are made to harm a search.

A population of servers that draw everything, and 40 servers for each scenario that changes one thing: see traits.py.
A search knows what windows show; it is judged on the truth, against a sweep of all settings and the default. Writes
raw.csv, summary.md and env.json into results/<date>-<kind of machine>/.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Final

# One thread a search: the computing time of an optimizer is that of one core. Set before numpy is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from bench.command import Results, flags_of, run_benchmark
from bench.side_by_side import run_side_by_side
from bench.unknown.play import FAR, JUDGED_TRIAL, MAX_TRIALS, Outcome, Play, play
from bench.unknown.table import markdown, summarise
from bench.unknown.traits import POPULATION, SCENARIOS
from rich.console import Console

from bayop.errors import InputError
from bayop.optimize import OPTIMIZERS

_MODULE: Final = "bench.unknown.run"
EVERY: Final = (*SCENARIOS, POPULATION)
EXAMPLES = """\
examples:
  python -m bench.unknown.run --jobs 2
  python -m bench.unknown.run --only 'cliff without warning|drift' --servers 4 --out build/look
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and writes its results."""
    return run_benchmark(_MODULE, parser(), argv, _measured)


def _measured(args: argparse.Namespace, console: Console) -> Results:
    plays = plan(args)
    outcomes = run_side_by_side(play, plays, args.jobs, console, label="searches", describe=lambda what: what.scenario)
    return Results({"raw": outcomes}, report(outcomes, args.optimizer))


def parser() -> argparse.ArgumentParser:
    """The flags."""
    result = flags_of(_MODULE, __doc__, examples=EXAMPLES)
    result.add_argument("--servers", type=int, default=40, metavar="N", help="of each scenario (default: 40)")
    result.add_argument("--population", type=int, default=200, metavar="N", help="servers (default: 200)")
    every = "|".join(EVERY).replace("%", "%%")
    result.add_argument("--only", metavar="NAMES", help=f"scenarios, separated by |, of {every} (default: all)")
    result.add_argument("--optimizer", default="grey-box", metavar="NAME", help="who chooses (default: grey-box)")
    result.add_argument("--jobs", type=int, default=1, metavar="N", help="searches at a time (default: 1)")
    return result


def plan(args: argparse.Namespace) -> list[Play]:
    """Every search, scenario by scenario.

    Raises:
        InputError: a scenario or the optimizer is not there.
    """
    chosen = EVERY if args.only is None else tuple(args.only.split("|"))
    for place, names, known in (("--only", chosen, EVERY), ("--optimizer", (args.optimizer,), OPTIMIZERS)):
        for name in names:
            if name not in known:
                hint = f"there are {'|'.join(known)}"
                raise InputError(wrong=f"there is no {name!r}", value=name, place=place, hint=hint)
    return [
        Play(scenario, number, args.optimizer)
        for scenario in chosen
        for number in range(args.population if scenario == POPULATION else args.servers)
    ]


def report(outcomes: Sequence[Outcome], optimizer: str) -> str:
    """The summary."""
    parts = [
        "# Servers of an unknown physics",
        "",
        f"Least power under the SLO by `{optimizer}`, at most {MAX_TRIALS} trials a search. A trial or a held setting",
        "is over the SLO when its true p99 is, by more than 2 %. Regret is the power of what is held over that of the",
        "best of all settings and the default, minus 1. Its mean is over what meets the SLO; in the column after",
        f"{JUDGED_TRIAL} trials what does not counts as 100 %. A first trial beyond {FAR:g} times the limit found",
        "a cliff.",
        "",
        markdown(summarise(outcomes)),
        "",
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
