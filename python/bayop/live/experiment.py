"""A sweep and a search on one live machine, one after the other, and the comparison of what they found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from time import monotonic
from typing import Final, Literal

from bayop.live.record import LiveRecord, Point
from bayop.measurement import Measurement
from bayop.optimize import make_optimizer
from bayop.optimize.base import Observation, Problem
from bayop.optimize.measured import best_measured
from bayop.search import Trial, run_search
from bayop.space import Setting
from bayop.target.agent import AgentTarget

Stage = Literal["sweep", "search", "again"]
OnPoint = Callable[[Stage, Point], None]
"""Told of every point as soon as it was measured."""

REPEATS: Final = 3
"""How often the two winners are measured again, in turns."""


def run_experiment(
    target: AgentTarget,
    problem: Problem,
    grid: Sequence[Setting],
    record: LiveRecord,
    *,
    max_trials: int,
    service_cpu_s: Callable[[], float],
    on_point: OnPoint = lambda _stage, _point: None,
) -> None:
    """Sweeps the grid, searches, and measures both winners again; what was measured is in the record at any time.

    Args:
        target: The machine under its load; its default is back in the end.
        problem: What is searched for.
        grid: The settings of the sweep.
        record: Takes in everything.
        max_trials: The trial budget of the search.
        service_cpu_s: Processor time that the service has taken until now.
        on_point: Told of every point.

    Raises:
        BayopError: the machine, the load or the agent has failed.
        KeyboardInterrupt: somebody has ended it.
    """
    started = monotonic()
    last_s, last_cpu_s = started, service_cpu_s()

    def note(stage: Stage, points: list[Point], setting: Setting, seen: Measurement) -> None:
        nonlocal last_s, last_cpu_s
        now_s, cpu_s = monotonic(), service_cpu_s()
        points.append(Point.of(setting, seen, (cpu_s - last_cpu_s) / (now_s - last_s)))
        last_s, last_cpu_s, record.duration_s = now_s, cpu_s, now_s - started
        on_point(stage, points[-1])

    def on_trial(trial: Trial) -> None:
        note("search", record.search, trial.setting, trial.measurement)

    swept = []
    for setting in grid:
        effective = target.apply(setting)
        seen = target.measure()
        swept.append(Observation(effective, seen, problem.qps))
        note("sweep", record.sweep, effective, seen)
    best = best_measured(swept, problem)
    record.best = None if best is None else dict(best)
    target.restore()

    optimizer = make_optimizer("grey-box", problem, seed=record.seed)
    result = run_search(target, problem, optimizer, max_trials=max_trials, on_trial=on_trial)
    record.stopped, record.held = result.stopped, None if result.setting is None else dict(result.setting)
    if result.stopped == "interrupted":
        raise KeyboardInterrupt
    winners = {"search": result.setting, "sweep": best}
    for name, setting in REPEATS * [(n, s) for n, s in winners.items() if s is not None]:
        effective = target.apply(setting)
        note("again", record.again.setdefault(name, []), effective, target.measure())
    target.restore()


def shortfall(record: LiveRecord, problem: Problem) -> float | None:
    """How much more of the objective the search's setting takes than the best of the sweep, as a share.

    Both as measured again, in turns: less than 0 when the search has found a better one. None when one is missing.
    """
    means = [_mean_objective(record.again.get(name, ()), problem) for name in ("search", "sweep")]
    found, best = means
    return None if found is None or best is None else found / best - 1.0


def _mean_objective(points: Sequence[Point], problem: Problem) -> float | None:
    whole: list[Mapping[str, float]] = [p.quantities for p in points if p.cut_short is None]
    return fmean(problem.objective.of(Measurement(q)) for q in whole) if whole else None
