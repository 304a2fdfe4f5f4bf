"""Searches of four knobs: interrupt delay, frequency, idle depth and number of queues of random servers of the twin.

Each server is swept, with at least 3,000 settings and the default, and each optimizer searches it; regret is what the
held setting draws more than the sweep's best. Beside it: time and memory of choosing with 2, 4 and 8 numeric knobs.
Writes raw.csv, cost.csv, summary.md and env.json into results/<date>-<kind of machine>/.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from bench.command import Results, chosen, flags_of, run_benchmark
from bench.generality.servers import draw_case
from bench.judge import TOLERANCE
from bench.knobs.cost import Cost
from bench.knobs.servers import KNOBS, best_of_sweep, regret_pct, server_space, sweep_settings, truth
from bench.knobs.tables import Outcome, costs_table, regrets_table
from bench.side_by_side import run_side_by_side
from rich.console import Console

from bayop.objective import Objective
from bayop.optimize import OPTIMIZERS, make_optimizer
from bayop.optimize.base import Problem
from bayop.search import run_search
from bayop.space import default_setting
from bayop.twin.target import TwinTarget

_MODULE: Final = "bench.knobs.run"

COUNTS: Final = (2, 4, 8)
"""Numbers of knobs whose cost is measured."""

ANSWER_S: Final = 120.0
"""A search of these that has not ended by then has no line in the table."""

EXAMPLES = """\
examples:
  python -m bench.knobs.run --jobs 2
  python -m bench.knobs.run --servers 2 --settings 200 --optimizers grey-box,random --out build/look
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """One server, and who searches it."""

    seed: int
    optimizers: tuple[str, ...]
    settings: int
    trials: int


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and writes its results."""
    return run_benchmark(_MODULE, parser(), argv, _measured)


def _measured(args: argparse.Namespace, console: Console) -> Results:
    names = chosen(args.optimizers, OPTIMIZERS, what="optimizer", flag="--optimizers")
    plans = [Plan(args.first_seed + i, names, args.settings, args.trials) for i in range(args.servers)]

    def show(outcomes: Sequence[Outcome]) -> None:
        for outcome in outcomes:
            console.print(line(outcome))

    judged = run_side_by_side(
        judge, plans, args.jobs, console, label="servers", describe=lambda _: "servers", on_result=show
    )
    outcomes = [outcome for server in judged for outcome in server]
    costs = [cost for count in COUNTS if (cost := measure_cost(count, console))]
    tables: dict[str, Sequence[Outcome | Cost]] = {"cost": costs}
    if outcomes:
        tables["raw"] = outcomes
    return Results(tables, report(outcomes, costs, args))


def parser() -> argparse.ArgumentParser:
    """The flags."""
    result = flags_of(_MODULE, __doc__, examples=EXAMPLES)
    result.add_argument(
        "--servers", type=int, default=40, metavar="N", help="random servers; 0 for the cost alone (default: 40)"
    )
    result.add_argument("--first-seed", type=int, default=0, metavar="N", help="of the servers (default: 0)")
    result.add_argument("--settings", type=int, default=3000, metavar="N", help="of a sweep, at least (default: 3000)")
    result.add_argument("--optimizers", default="grey-box", metavar="NAMES", help="comma-separated (default: grey-box)")
    result.add_argument("--trials", type=int, default=12, metavar="N", help="budget of a search (default: 12)")
    result.add_argument("--jobs", type=int, default=1, metavar="N", help="servers at a time (default: 1)")
    return result


def judge(plan: Plan) -> list[Outcome]:
    """Sweeps one server and lets every optimizer search it."""
    case = draw_case(plan.seed)
    space = server_space(case)
    settings = [*sweep_settings(space, plan.settings), default_setting(space)]
    best_w = best_of_sweep(case, settings)
    outcomes = []
    for optimizer in plan.optimizers:
        target = TwinTarget(case.profile, qps=case.qps, seed=case.seed, knobs=KNOBS)
        objective = Objective.parse("power", case.slo)
        problem = Problem(space, case.slo, objective, case.qps, default=target.baseline())
        chooser = make_optimizer(optimizer, problem, seed=case.seed)
        result = run_search(target, problem, chooser, max_trials=plan.trials)
        truths = [truth(case, trial.setting, windows=1) for trial in result.trials]
        outcome = Outcome(
            seed=plan.seed,
            server=case.summary,
            optimizer=optimizer,
            swept=len(settings),
            best_w=best_w,
            regret_pct=None if best_w is None else regret_pct(case, result.setting, best_w),
            trials=len(truths),
            trials_over=sum(p99_us > TOLERANCE * case.slo.limit_us for _, p99_us in truths),
            stopped=result.stopped,
            ms_per_trial=1000.0 * statistics.median(trial.chosen_in_s for trial in result.trials),
        )
        outcomes.append(outcome)
    return outcomes


def line(outcome: Outcome) -> str:
    """One outcome for people."""
    regret = "infeasible" if outcome.regret_pct is None else f"{outcome.regret_pct:.2f} %"
    return f"{outcome.seed:4d} {outcome.optimizer} {regret:>10} {outcome.trials:2d} trials, {outcome.stopped}"


def measure_cost(knobs: int, console: Console) -> Cost | None:
    """Time and memory of choosing among so many knobs; None, which is said, without an answer in time."""
    command = [sys.executable, "-m", "bench.knobs.cost", "--knobs", str(knobs)]
    try:
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=ANSWER_S)
    except subprocess.TimeoutExpired:
        console.print(f"no answer with {knobs} knobs in {ANSWER_S:g} s")
        return None
    return Cost(**json.loads(run.stdout))


def report(outcomes: Sequence[Outcome], costs: Sequence[Cost], args: argparse.Namespace) -> str:
    """The summary."""
    swept = min((o.swept for o in outcomes), default=0)
    regrets = [
        f"Delay, frequency, idle depth and queues of random servers, at most {args.trials} trials a search, against",
        f"sweeps of {swept} settings and more. Where a sweep has no setting that meets the SLO there is no regret.",
        "",
        regrets_table(outcomes),
        "",
    ]
    parts = [
        "# Four knobs of the twin",
        "",
        *(regrets if outcomes else []),
        "## The cost of choosing",
        "",
        "`grey-box` in a process of its own, in processor time; memory is the whole process's peak.",
        "",
        costs_table(costs),
        "",
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
