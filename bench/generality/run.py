"""Does the search work on servers that nobody fitted it to?

Draws random servers from the twin's parameter space, finds each one's best setting by an exhaustive sweep, and lets
`grey-box` search. Prints a line per server and a last line with the totals as JSON.

Example:
  python -m bench.generality.run --servers 40 --out bench/generality/results
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from bench import environment
from bench.generality.servers import Case, draw_case, sweep_settings
from bench.judge import TOLERANCE, held_after, quantile

from bayop.objective import Objective
from bayop.optimize import make_optimizer
from bayop.optimize.base import Problem
from bayop.search import run_search
from bayop.space import Setting
from bayop.twin.target import TwinTarget

# Truth is the mean of windows as long as a trial's, under arrivals that no trial sees. One window is enough to rank a
# sweep; its contenders and the settings that a search held are measured in several, because near saturation the tail
# of one window scatters by several per cent.
TRUTH_SEED = 1_000_003
TRUTH_WINDOWS = 6
CONTENDERS = 12
MAX_TRIALS = 15
JUDGED_TRIAL = 8


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one search did against the sweep.

    `regret_pct` is None where the sweep found no setting that meets the SLO.
    """

    seed: int
    server: str
    feasible: bool
    best_w: float | None
    regret_pct: float | None
    slo_ok: bool
    trials: int
    bad_trials: int
    stopped: str
    ms_per_trial: float


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, default=40)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--optimizer", default="grey-box")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--verbose", action="store_true", help="print every trial")
    parser.add_argument("--out", type=Path, help="write outcomes.jsonl and summary.json here")
    args = parser.parse_args()
    outcomes = []
    for seed in range(args.first_seed, args.first_seed + args.servers):
        case = draw_case(seed)
        outcome = judge(case, args.optimizer, threads=args.threads, verbose=args.verbose)
        outcomes.append(outcome)
        print(line(outcome), flush=True)
    summary = summarise(outcomes)
    print(json.dumps(summary))
    if args.out:
        environment.write(args.out, "bench.generality.run", sys.argv[1:])
        (args.out / "outcomes.jsonl").write_text("".join(json.dumps(asdict(o)) + "\n" for o in outcomes))
        (args.out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")


def judge(case: Case, optimizer: str, *, threads: int, verbose: bool) -> Outcome:
    """Sweeps one server, searches it, and compares."""
    settings = sweep_settings(case.profile)
    limit_us = case.slo.limit_us
    best = best_of_sweep(case, settings, threads=threads)
    best_w = None if best is None else best[1]

    target = TwinTarget(case.profile, qps=case.qps, seed=case.seed)
    problem = Problem(target.space.without_auto(), case.slo, Objective.parse("power", case.slo), case.qps)
    result = run_search(target, problem, make_optimizer(optimizer, problem, seed=case.seed), max_trials=MAX_TRIALS)
    truth = simulated(case, [t.setting for t in result.trials], threads=threads)
    if verbose:
        for trial, (power_w, p99_us) in zip(result.trials, truth, strict=True):
            print(
                f"      {dict(trial.setting)} {power_w:.1f} W {p99_us:.0f} us",
                "held" if trial.incumbent == trial.setting else "",
            )
        print("      best", best)
    setting = held_after(result, JUDGED_TRIAL)
    return Outcome(
        seed=case.seed,
        server=case.summary,
        feasible=best_w is not None,
        best_w=best_w,
        regret_pct=None if best_w is None else regret_pct(case, setting, best_w),
        slo_ok=is_ok(case, result.setting, feasible=best_w is not None),
        trials=len(result.trials),
        bad_trials=sum(p99 > TOLERANCE * limit_us for _, p99 in truth),
        stopped=result.stopped,
        ms_per_trial=1000 * statistics.median(t.chosen_in_s for t in result.trials),
    )


def best_of_sweep(case: Case, settings: list[Setting], *, threads: int) -> tuple[Setting, float] | None:
    """The setting of least true power that meets the SLO, and its power; None when none does."""
    windows = simulated(case, settings, windows=1, threads=threads)
    likely = [i for i, (_, p99_us) in enumerate(windows) if p99_us < 1.2 * case.slo.limit_us]
    likely.sort(key=lambda i: windows[i][0])
    for start in range(0, len(likely), CONTENDERS):
        contenders = [settings[i] for i in likely[start : start + CONTENDERS]]
        truths = simulated(case, contenders, threads=threads)
        feasible = [(s, w) for s, (w, p99_us) in zip(contenders, truths, strict=True) if p99_us < case.slo.limit_us]
        if feasible:
            return min(feasible, key=lambda pair: pair[1])
    return None


def simulated(
    case: Case, settings: list[Setting], *, windows: int = TRUTH_WINDOWS, threads: int
) -> list[tuple[float, float]]:
    """True power (W) and p99 (us) of settings, all under the same arrivals."""

    def measure(setting: Setting) -> tuple[float, float]:
        target = TwinTarget(case.profile, qps=case.qps, seed=TRUTH_SEED)
        target.apply(setting)
        shown = [target.measure() for _ in range(windows)]
        return statistics.fmean(w["power_w"] for w in shown), statistics.fmean(w["p99_us"] for w in shown)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(measure, settings))


def regret_pct(case: Case, setting: Setting | None, best_w: float) -> float:
    """How much more power than the best the setting truly draws; 100 without a setting or with the SLO broken."""
    if setting is None:
        return 100.0
    power_w, p99_us = simulated(case, [setting], threads=1)[0]
    return 100.0 if p99_us > TOLERANCE * case.slo.limit_us else 100.0 * max(0.0, power_w / best_w - 1.0)


def is_ok(case: Case, setting: Setting | None, *, feasible: bool) -> bool:
    """Whether the search ended on a setting that meets the SLO, or said so where there is none."""
    if setting is None:
        return not feasible
    return simulated(case, [setting], threads=1)[0][1] <= TOLERANCE * case.slo.limit_us


def line(outcome: Outcome) -> str:
    """One outcome for people."""
    regret = "infeasible" if outcome.regret_pct is None else f"{outcome.regret_pct:6.2f} %"
    verdict = "ok " if outcome.slo_ok else "BAD"
    trials = f"{outcome.trials:2d} trials, {outcome.bad_trials:2d} over, {outcome.stopped:10}"
    return f"{outcome.seed:4d} {regret:>10} {verdict} {trials} {outcome.server}"


def summarise(outcomes: list[Outcome]) -> dict[str, float | int | None]:
    """The totals that the bars read."""
    regrets = sorted(o.regret_pct for o in outcomes if o.regret_pct is not None)
    possible = [o for o in outcomes if o.feasible]
    hopeless = [o.trials for o in outcomes if not o.feasible]
    return {
        "servers": len(outcomes),
        "feasible": len(regrets),
        f"median_regret@{JUDGED_TRIAL}_pct": round(statistics.median(regrets), 3) if regrets else None,
        f"p90_regret@{JUDGED_TRIAL}_pct": round(quantile(regrets, 0.9), 3) if regrets else None,
        "slo_ok_share": round(statistics.fmean(o.slo_ok for o in outcomes), 3),
        "mean_trials": round(statistics.fmean(o.trials for o in outcomes), 2),
        "bad_share": round(sum(o.bad_trials for o in possible) / max(sum(o.trials for o in possible), 1), 3),
        "most_trials_where_infeasible": max(hopeless, default=None),
        "ms_per_trial": round(statistics.median(o.ms_per_trial for o in outcomes), 2),
    }


if __name__ == "__main__":
    main()
