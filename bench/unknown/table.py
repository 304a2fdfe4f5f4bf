"""From outcomes to the table that people read: a row for each scenario."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.judge import quantile
from bench.unknown.play import JUDGED_TRIAL, Outcome, over_share


@dataclass(frozen=True, slots=True)
class Row:
    """One scenario over its servers.

    Regrets in the end are of what is held and meets the SLO; searches that hold nothing, or break it, are counted.

    Attributes:
        held_over: Searches that hold a setting over the SLO.
        nothing: Searches that hold nothing that meets the SLO.
        regret_mean: In %.
        regret_p90: In %.
        early_median: Median of all regrets after `JUDGED_TRIAL` trials, 100 over the SLO and infinite for nothing held.
        early_p95: Their 95th percentile.
        trials: Mean number.
        over: Share of the trials over the SLO.
        worst: Greatest p99 over the limit of any trial.
        worst_but_first: The same without each search's first trial beyond `FAR` times the limit.
        islands: Servers whose fastest setting misses the SLO, and on how many of them a search found one that meets it.
        defaults: Servers whose default is the best, and on how many of them it was restored.
    """

    scenario: str
    servers: int
    held_over: int
    nothing: int
    regret_mean: float
    regret_p90: float
    early_median: float
    early_p95: float
    trials: float
    over: float
    worst: float
    worst_but_first: float
    islands: tuple[int, int]
    defaults: tuple[int, int]


def summarise(outcomes: Iterable[Outcome]) -> list[Row]:
    """One row for each scenario, in the order of the outcomes."""
    scenarios: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        scenarios.setdefault(outcome.scenario, []).append(outcome)
    return [_row(name, played) for name, played in scenarios.items()]


def markdown(rows: Sequence[Row]) -> str:
    """The table."""
    head = (
        "| scenario | servers | held over the SLO by > 2 % | holds nothing | regret mean / p90 % | "
        f"after {JUDGED_TRIAL} trials: median / p95 % | trials | trials over the SLO | worst p99/SLO | "
        "but for the first over a cliff | islands found | default restored |"
    )
    lines = [
        f"| {r.scenario} | {r.servers} | {r.held_over} | {r.nothing} | {_pct(r.regret_mean)} / {_pct(r.regret_p90)} | "
        f"{_pct(r.early_median)} / {_pct(r.early_p95)} | {r.trials:.1f} | {r.over:.0%} | {_short(r.worst)} | "
        f"{_short(r.worst_but_first)} | {_of(r.islands)} | {_of(r.defaults)} |"
        for r in rows
    ]
    return "\n".join([head, "|---" + "|---:" * 11 + "|", *lines])


def _row(scenario: str, played: Sequence[Outcome]) -> Row:
    regrets = sorted(o.regret_pct for o in played if o.holds != "nothing" and not o.held_over)
    early = sorted(o.regret_early_pct for o in played)
    islands = [o for o in played if o.island]
    defaults = [o for o in played if o.default_best]
    return Row(
        scenario=scenario,
        servers=len(played),
        held_over=sum(o.held_over for o in played),
        nothing=sum(o.holds == "nothing" for o in played),
        regret_mean=statistics.fmean(regrets) if regrets else math.nan,
        regret_p90=quantile(regrets, 0.9) if regrets else math.nan,
        early_median=statistics.median_high(early),
        early_p95=quantile(early, 0.95),
        trials=statistics.fmean(o.trials for o in played),
        over=over_share(played),
        worst=max(o.worst for o in played),
        worst_but_first=max(o.worst_but_first for o in played),
        islands=(sum(o.holds == "fixed" and not o.held_over for o in islands), len(islands)),
        defaults=(sum(o.holds == "default" for o in defaults), len(defaults)),
    )


def _pct(value: float) -> str:
    if math.isnan(value):
        return "-"
    return _short(value) if math.isfinite(value) else "nothing held"


def _short(value: float) -> str:
    """Two digits, or all before the point."""
    return f"{value:.2g}" if value < 10.0 else f"{value:.0f}"


def _of(found: tuple[int, int]) -> str:
    return f"{found[0]} of {found[1]}" if found[1] else "-"
