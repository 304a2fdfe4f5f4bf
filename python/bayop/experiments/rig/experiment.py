"""A sweep and a search on one live machine, one after the other, and what they found once more, in turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from types import MappingProxyType
from typing import Literal

from bayop.confirm import DEFAULT, Round, is_enough, take_turns
from bayop.experiments.rig.record import LiveRecord, Point
from bayop.experiments.rig.summary import SEARCH, SWEEP
from bayop.live.target import AgentTarget
from bayop.measurement import Measurement
from bayop.optimize import make_optimizer
from bayop.optimize.base import Observation, Problem
from bayop.optimize.measured import best_measured
from bayop.saving import Looks
from bayop.search import Trial, run_search
from bayop.space import Setting, plain_setting

Stage = Literal["sweep", "search", "again"]
OnPoint = Callable[[Stage, Point], None]
"""Told of every point as soon as it was measured."""


def run_experiment(
    target: AgentTarget,
    problem: Problem,
    grid: Sequence[Setting],
    record: LiveRecord,
    *,
    max_trials: int,
    on_point: OnPoint = lambda _stage, _point: None,
) -> None:
    """Sweeps, searches, and measures default and winners again; what was measured is in the record at any time.

    Args:
        target: The machine under its load; its default is back in the end.
        problem: What is searched for.
        grid: The settings of the sweep.
        record: Takes in everything.
        max_trials: The trial budget of the search.
        on_point: Told of every point.

    Raises:
        BayopError: the machine, the load or the agent has failed.
        KeyboardInterrupt: somebody has ended it.
    """
    start_s = monotonic()

    def note(stage: Stage, points: list[Point], setting: Setting, measurement: Measurement) -> None:
        points.append(Point.of(setting, measurement))
        record.duration_s, record.doubts = monotonic() - start_s, target.patience.doubts
        on_point(stage, points[-1])

    def on_trial(trial: Trial) -> None:
        note("search", record.search, trial.setting, trial.measurement)

    observations = []
    for setting in grid:
        effective = target.apply(setting)
        measurement = target.measure()
        observations.append(Observation(effective, measurement, problem.qps))
        note("sweep", record.sweep, effective, measurement)
    best = best_measured(observations, problem)
    record.best = plain_setting(best)
    target.restore()

    optimizer = make_optimizer("grey-box", problem, seed=record.seed)
    result = run_search(target, problem, optimizer, max_trials=max_trials, on_trial=on_trial)
    record.stopped, record.held = result.stopped, plain_setting(result.setting)
    if result.stopped == "interrupted":
        raise KeyboardInterrupt
    if result.setting is not None:
        contenders = {DEFAULT: None, SEARCH: result.setting, SWEEP: best}
        turns = take_turns(
            target,
            {name: setting for name, setting in contenders.items() if name != SWEEP or setting is not None},
            seed=record.seed,
            on_window=lambda name, measurement: note(
                "again", record.again.setdefault(name, []), contenders[name] or MappingProxyType({}), measurement
            ),
        )
        rounds: list[Round] = []
        while not is_enough(rounds, problem, Looks(record.most_pairs), a=DEFAULT, b=SEARCH):
            rounds.append(next(turns))
    target.restore()
