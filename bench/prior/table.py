"""From outcomes to the table that people read: what a class changes, beside the same searches without one."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bench.judge import quantile, trials_or_never
from bench.prior.play import Outcome

NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Change:
    """Mean of a paired difference, and its standard error."""

    mean: float
    error: float


@dataclass(frozen=True, slots=True)
class Row:
    """The searches of one suite that knew the same.

    Attributes:
        trials: Mean number.
        to_good: Median over searches of the trials to within 1 % of the best; infinite for never.
        good: Share of the searches that ended there.
        over: Share of all trials that broke the SLO.
        regret_median: In %; what breaks the SLO, and nothing held, count as 100.
        regret_p95: In %.
        regret_change: Of the mean regret against the same searches without a class, in percentage points.
        trials_change: Of the number of trials, likewise.
        over_change: Of the number of a search's trials that broke the SLO, likewise.
    """

    suite: str
    known: str
    searches: int
    trials: float
    to_good: float
    good: float
    over: float
    regret_median: float
    regret_p95: float
    regret_change: Change
    trials_change: Change
    over_change: Change


def summarise(outcomes: Iterable[Outcome]) -> list[Row]:
    """One row for each suite and what was known, in the order of the outcomes."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.suite, outcome.known), []).append(outcome)
    return [_row(played, groups[suite, NOTHING]) for (suite, _), played in groups.items()]


def markdown(rows: Sequence[Row]) -> str:
    """The table."""
    head = (
        "| servers | learned from | searches | trials | to within 1 % | got there | trials over the SLO | "
        "regret median / p95 % | change of mean regret, points | of trials a search | of those over the SLO |"
    )
    lines = [
        f"| {r.suite} | {r.known} | {r.searches} | {r.trials:.2f} | {trials_or_never(r.to_good)} | {r.good:.0%} | "
        f"{r.over:.1%} | {r.regret_median:.2f} / {r.regret_p95:.2g} | "
        + " | ".join(_change(change) for change in (r.regret_change, r.trials_change, r.over_change))
        + " |"
        for r in rows
    ]
    return "\n".join([head, "|---|---" + "|---:" * 9 + "|", *lines])


def _row(played: Sequence[Outcome], without: Sequence[Outcome]) -> Row:
    regrets = sorted(o.regret_pct for o in played)
    to_good = [math.inf if o.to_good is None else o.to_good for o in played]

    def change(value: Callable[[Outcome], float]) -> Change:
        return paired_change([value(o) for o in played], [value(o) for o in without])

    return Row(
        suite=played[0].suite,
        known=played[0].known,
        searches=len(played),
        trials=statistics.fmean(o.trials for o in played),
        to_good=statistics.median_high(to_good),
        good=statistics.fmean(math.isfinite(x) for x in to_good),
        over=sum(o.trials_over for o in played) / sum(o.trials for o in played),
        regret_median=statistics.median(regrets),
        regret_p95=quantile(regrets, 0.95),
        regret_change=change(lambda o: o.regret_pct),
        trials_change=change(lambda o: o.trials),
        over_change=change(lambda o: o.trials_over),
    )


def paired_change(values: Sequence[float], without: Sequence[float]) -> Change:
    """How much more the values are than those of the same searches without a class; at least two of them."""
    differences = [a - b for a, b in zip(values, without, strict=True)]
    return Change(statistics.fmean(differences), statistics.stdev(differences) / math.sqrt(len(differences)))


def _change(change: Change) -> str:
    return "-" if change == Change(0.0, 0.0) else f"{change.mean:+.2f} ± {change.error:.2f}"
