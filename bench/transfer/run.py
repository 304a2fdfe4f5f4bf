"""How many trials does a new load need, when two other loads of the same server were searched before?

Random servers as in bench/generality, each searched at 50 % and 85 % of its drawn load; then at 70 % (between), 100 %
and 30 % (beyond), with the earlier observations as history. A load's answer is the number of trials until the held
setting truly draws within 1 % of the best of an exhaustive sweep. Prints a line per server and the totals as JSON.

Example:
  python -m bench.transfer.run --servers 20 --out bench/transfer/results
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from bench import environment
from bench.generality.run import best_of_sweep, simulated
from bench.generality.servers import Case, draw_case, sweep_settings
from bench.judge import TOLERANCE

from bayop.objective import Objective
from bayop.optimize import make_optimizer
from bayop.optimize.base import Observation, Problem
from bayop.search import Trial, run_search
from bayop.space import Setting
from bayop.twin.target import TwinTarget

LEARNED_AT = (0.5, 0.85)
ASKED_AT = {"between": 0.7, "above": 1.0, "below": 0.3}
WITHIN_PCT = 1.0
MAX_TRIALS = 15


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, help="write rows.jsonl and summary.json here")
    args = parser.parse_args()
    rows = []
    seeds = range(args.first_seed, args.first_seed + args.servers)
    with ThreadPoolExecutor(args.threads) as pool:
        for records in pool.map(transfer, seeds):
            rows += records
            for row in records:
                print(json.dumps(row), flush=True)
    summary = summarise(rows)
    print(json.dumps(summary))
    if args.out:
        environment.write(args.out, "bench.transfer.run", sys.argv[1:])
        (args.out / "rows.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
        (args.out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")


def transfer(seed: int) -> list[dict[str, object]]:
    """One server: learn at two loads, then ask at the others."""
    case = draw_case(seed)
    history: list[Observation] = []
    for share in LEARNED_AT:
        _, observations = search(at_load(case, share), history)
        history += observations
    rows: list[dict[str, object]] = []
    for place, share in ASKED_AT.items():
        loaded = at_load(case, share)
        best = best_of_sweep(loaded, sweep_settings(loaded.profile), threads=1)
        if best is not None:
            trials, _ = search(loaded, history)
            rows.append({"seed": seed, "place": place, "server": case.summary, "trials": len(trials)})
            rows[-1]["trials_to_within"] = trials_to_within(loaded, trials, best[1])
    return rows


def at_load(case: Case, share: float) -> Case:
    """The same server and SLO at a share of the drawn load."""
    return replace(case, qps=case.qps * share)


def search(case: Case, history: list[Observation]) -> tuple[tuple[Trial, ...], list[Observation]]:
    """One search with what is known; returns its trials, also as observations for the next one."""
    target = TwinTarget(case.profile, qps=case.qps, seed=case.seed)
    objective = Objective.parse("power", case.slo)
    problem = Problem(target.space.without_auto(), case.slo, objective, case.qps, tuple(history))
    result = run_search(target, problem, make_optimizer("grey-box", problem, seed=case.seed), max_trials=MAX_TRIALS)
    return result.trials, [Observation(t.setting, t.measurement, case.qps) for t in result.trials]


def trials_to_within(case: Case, trials: tuple[Trial, ...], best_w: float) -> int:
    """The first trial after which the held setting is within 1 % of the best; one more than the budget when none is."""

    def is_close(setting: Setting) -> bool:
        power_w, p99_us = simulated(case, [setting], threads=1)[0]
        return p99_us <= TOLERANCE * case.slo.limit_us and power_w <= (1 + WITHIN_PCT / 100) * best_w

    verdicts = {tuple(t.incumbent.values()): is_close(t.incumbent) for t in trials if t.incumbent}
    close = (t.number for t in trials if t.incumbent and verdicts[tuple(t.incumbent.values())])
    return next(close, MAX_TRIALS + 1)


def summarise(rows: list[dict[str, object]]) -> dict[str, object]:
    """Medians over all servers, for each place of the new load and overall."""

    def median(places: set[str]) -> float:
        return statistics.median(int(str(r["trials_to_within"])) for r in rows if r["place"] in places)

    summary: dict[str, object] = {f"median_trials_{place}": median({place}) for place in ASKED_AT}
    return {"searches": len(rows), **summary, "median_trials_to_within_1_pct": median(set(ASKED_AT))}


if __name__ == "__main__":
    main()
