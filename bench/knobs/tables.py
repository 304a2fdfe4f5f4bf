"""What searches of four knobs found, and what choosing cost, as tables."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bench.judge import quantile
from bench.knobs.cost import Cost


@dataclass(frozen=True, slots=True)
class Outcome:
    """One search; the fields are the columns of raw.csv.

    Attributes:
        swept: How many settings the sweep had, the default among them.
        best_w: Of the sweep; None where none met the SLO.
        regret_pct: Of what is held in the end; None without a best.
        trials_over: Trials that truly broke the SLO by more than 2 %.
    """

    seed: int
    server: str
    optimizer: str
    swept: int
    best_w: float | None
    regret_pct: float | None
    trials: int
    trials_over: int
    stopped: str
    ms_per_trial: float


def regrets_table(outcomes: Sequence[Outcome]) -> str:
    """A line for each optimizer."""
    head = (
        "| optimizer | servers | feasible | regret: median / p90 % | over the SLO or nothing held | trials | "
        "trials over the SLO | computing per trial |"
    )
    lines = [head, "|---" + "|---:" * 7 + "|"]
    for name in dict.fromkeys(o.optimizer for o in outcomes):
        own = [o for o in outcomes if o.optimizer == name]
        regrets = sorted(o.regret_pct for o in own if o.regret_pct is not None)
        middle = f"{statistics.median(regrets):.2f} / {quantile(regrets, 0.9):.2f}" if regrets else "-"
        feasible = [o for o in own if o.best_w is not None]
        over = sum(o.trials_over for o in feasible) / max(sum(o.trials for o in feasible), 1)
        lines.append(
            f"| {name} | {len(own)} | {len(regrets)} | {middle} | {sum(r >= 100.0 for r in regrets)} | "
            f"{statistics.fmean(o.trials for o in own):.1f} | {over:.0%} | "
            f"{statistics.median(o.ms_per_trial for o in own):.3g} ms |"
        )
    return "\n".join(lines)


def costs_table(costs: Sequence[Cost]) -> str:
    """A line for each number of knobs."""
    lines = ["| knobs | trials | processor ms a trial: median / worst | peak MB |", "|---:" * 4 + "|"]
    lines += [
        f"| {cost.knobs} | {cost.trials} | {cost.ms_per_trial:.3g} / {cost.worst_ms:.3g} | {cost.peak_mb:.0f} |"
        for cost in costs
    ]
    return "\n".join(lines)
