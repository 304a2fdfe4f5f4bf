"""Searches under two latency limits of which both matter, beside searches under either alone.

On every cell of the published measurements that measures a median: its SLO, p99<500us, and a median of 60 % of what the
best setting under that SLO has, so that the second limit binds. What is held is judged on the true surface against the
best of all its settings. Writes raw.csv, summary.md and env.json into results/<date>-<kind of machine>/.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

# One thread a search: the computing time of an optimizer is that of one core. Set before numpy is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from bench.command import Results, flags_of, run_benchmark
from bench.judge import TOLERANCE
from bench.search.cells import Cell, find_cells
from rich.console import Console

from bayop.search import tune
from bayop.slo import Slo

_MODULE = "bench.several.run"
_LIMIT_US = 500.0
_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Outcome:
    """One search.

    Attributes:
        best_w: Least true power of any setting that meets the SLO.
        power_w: True power of what is held; None for the default.
        over: How much of its limits the worst true latency of what is held takes; None for the default.
        missed: How many of its trials missed the SLO.
        choose_ms: The optimizer's own time for a trial, on average.
    """

    cell: str
    slo: str
    limits: str
    seed: int
    best_w: float
    power_w: float | None
    over: float | None
    trials: int
    missed: int
    choose_ms: float


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and writes its results."""
    flags = flags_of(_MODULE, __doc__)
    flags.add_argument("data", type=Path, help="folder of study_memcached.csv and study_silo.csv")
    flags.add_argument("--seeds", type=int, default=20, metavar="N", help="searches per cell and SLO (default: 20)")
    return run_benchmark(_MODULE, flags, argv, _measured)


def _measured(args: argparse.Namespace, _: Console) -> Results:
    cells = [cell for cell in find_cells(args.data) if cell.slo_us == _LIMIT_US]
    searches = ((cell, limits, slo) for cell in cells for limits, slo in slos_of(cell).items())
    outcomes = [outcome for search in searches for outcome in play(*search, args.seeds)]
    return Results({"raw": outcomes}, summary(outcomes))


def slos_of(cell: Cell) -> dict[str, Slo]:
    """The two limits alone, and both."""
    tail = Slo(0.99, cell.slo_us)
    best = min((t for t in truths(cell) if tail.met_by(t)), key=lambda t: t["power_w"])
    middle = Slo(0.5, round(_SHARE * best["p50_us"]))
    return {"p99": tail, "p50": middle, "both": Slo(tail.quantile, tail.limit_us, (middle,))}


def truths(cell: Cell) -> list[dict[str, float]]:
    """What every setting truly shows."""
    target = cell.target(0)
    return [target.truth(setting) for setting in target.space.settings()]


def play(cell: Cell, limits: str, slo: Slo, seeds: int) -> Iterator[Outcome]:
    """The searches of a cell under one SLO; none where nothing meets it."""
    good = [t["power_w"] for t in truths(cell) if slo.met_by(t)]
    for seed in range(seeds) if good else ():
        target = cell.target(seed)
        result = tune(target, slo, seed=seed)
        held = None if result.setting is None or result.is_default else target.truth(result.setting)
        yield Outcome(
            cell=cell.name.rpartition(" ")[0],
            slo=str(slo),
            limits=limits,
            seed=seed,
            best_w=min(good),
            power_w=None if held is None else held["power_w"],
            over=None if held is None else max(held[limit.quantity] / limit.limit_us for limit in slo.limits),
            trials=len(result.trials),
            missed=sum(not trial.meets_slo for trial in result.trials),
            choose_ms=1e3 * fmean(trial.chosen_in_s for trial in result.trials),
        )


def summary(outcomes: Sequence[Outcome]) -> str:
    """A table with a row for each cell and SLO, and one for all cells under each kind of SLO."""
    kinds = dict.fromkeys(o.limits for o in outcomes)
    rows = [_row(f"all | {kind}", [o for o in outcomes if o.limits == kind], is_one=False) for kind in kinds]
    for cell, slo in dict.fromkeys((o.cell, o.slo) for o in outcomes):
        rows.append(_row(f"{cell} | {slo}", [o for o in outcomes if (o.cell, o.slo) == (cell, slo)], is_one=True))
    head = "| cell | SLO | best | searches | hold nothing | over a limit by > 2 % | regret median / most | trials "
    return "\n".join([f"{head}| trials over the SLO | ms a trial |", "|---|---|" + "---:|" * 8, *rows, ""])


def _row(name: str, outcomes: Sequence[Outcome], *, is_one: bool) -> str:
    held = [o for o in outcomes if o.power_w is not None and o.over is not None]
    regrets = [o.power_w / o.best_w - 1.0 for o in held if o.power_w is not None and (o.over or 0.0) <= TOLERANCE]
    trials = sum(o.trials for o in outcomes)
    cells = [
        f"{outcomes[0].best_w:.1f} W" if is_one else "",
        str(len(outcomes)),
        str(len(outcomes) - len(held)),
        str(len(held) - len(regrets)),
        f"{median(regrets):.2%} / {max(regrets):.2%}" if regrets else "-",
        f"{trials / len(outcomes):.1f}",
        f"{sum(o.missed for o in outcomes) / trials:.1%}",
        f"{fmean(o.choose_ms for o in outcomes):.0f}",
    ]
    return f"| {name} | {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
