"""From raw records to the tables that people read."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from bench.judge import quantile, trials_or_never
from bench.search.records import Record

GOOD = 0.01
"""A setting within 1 % of the best is good enough for anybody's electricity bill."""


@dataclass(frozen=True, slots=True)
class Line:
    """One optimizer, over many searches.

    Attributes:
        trials: Mean number of trials until it stopped.
        to_good: Median over searches of the trials after which what it held was within 1 % of the best and stayed
            there; infinite when half of the searches never got there.
        good: Share of the searches that ended there.
        over_slo: Share of all trials that truly broke the SLO.
        final_ok: Share of final settings that truly meet the SLO.
        regret: Median of the final regrets.
        regret_p95: Their 95th percentile.
        chosen_in_s: Median seconds of computing per trial.
    """

    optimizer: str
    searches: int
    trials: float
    to_good: float
    good: float
    over_slo: float
    final_ok: float
    regret: float
    regret_p95: float
    chosen_in_s: float


def summarise(records: Iterable[Record]) -> list[Line]:
    """One line per optimizer, in the order of the records."""
    by_optimizer: dict[str, list[Record]] = {}
    for record in records:
        by_optimizer.setdefault(record.optimizer, []).append(record)
    return [_line(name, rows) for name, rows in by_optimizer.items()]


def markdown(title: str, lines: Sequence[Line]) -> str:
    """A table of `lines` under a heading."""
    head = (
        "| optimizer | searches | trials used | trials to within 1 % | got there | trials over the SLO | "
        "final setting meets it | final regret, median | 95th percentile | computing per trial |"
    )
    rows = [
        f"| {x.optimizer} | {x.searches} | {x.trials:.1f} | {trials_or_never(x.to_good)} | {x.good:.0%} | "
        f"{x.over_slo:.1%} | {x.final_ok:.0%} | {x.regret:.2%} | {x.regret_p95:.2%} | {_seconds(x.chosen_in_s)} |"
        for x in lines
    ]
    return "\n".join([f"## {title}", "", head, "|---" + "|---:" * 9 + "|", *rows, ""])


def trials_to_good(search: Sequence[Record]) -> float:
    """Trials after which the held setting is good and stays so; infinite when the last one is not."""
    if search[-1].regret > GOOD:
        return math.inf
    bad = [r.trial for r in search if r.regret > GOOD]
    return max(bad, default=0) + 1


def _line(optimizer: str, rows: Sequence[Record]) -> Line:
    ordered = sorted(rows, key=lambda r: (r.cell, r.seed, r.trial))
    searches = [list(g) for _, g in groupby(ordered, key=lambda r: (r.cell, r.seed))]
    regrets = sorted(s[-1].regret for s in searches)
    to_good = [trials_to_good(s) for s in searches]
    return Line(
        optimizer=optimizer,
        searches=len(searches),
        trials=statistics.fmean(len(s) for s in searches),
        to_good=statistics.median_high(to_good),
        good=statistics.fmean(t < math.inf for t in to_good),
        over_slo=statistics.fmean(r.over_slo for r in rows),
        final_ok=statistics.fmean(s[-1].held_ok for s in searches),
        regret=statistics.median(regrets),
        regret_p95=quantile(regrets, 0.95),
        chosen_in_s=statistics.median(r.chosen_in_s for r in rows),
    )


def _seconds(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms" if seconds < 1.0 else f"{seconds:.2f} s"


def by_cell(records: Iterable[Record]) -> Mapping[str, list[Record]]:
    """The records of each cell, in order."""
    cells: dict[str, list[Record]] = {}
    for record in records:
        cells.setdefault(record.cell, []).append(record)
    return cells
