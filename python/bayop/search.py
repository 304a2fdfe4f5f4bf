"""One search: ask, apply, measure, tell, decide to stop; then hold the incumbent or put the default back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.objective import Objective
from bayop.optimize.base import Finished, Observation, Optimizer, Prediction, Problem, StopReason
from bayop.space import Setting
from bayop.target.base import Server, Target

Stopped = Literal[StopReason, "budget", "interrupted"]


@dataclass(frozen=True, slots=True)
class Trial:
    """One setting, applied and measured.

    Attributes:
        number: Counts from 1.
        setting: What was in effect.
        measurement: What the window showed.
        meets_slo: Whether the measured latency meets the SLO; that of a window that was cut short never does.
        incumbent: The setting that BayOp would hold if it had to stop after this trial.
        chosen_in_s: The optimizer's own time to choose this trial, in s.
    """

    number: int
    setting: Setting
    measurement: Measurement
    meets_slo: bool
    incumbent: Setting | None
    chosen_in_s: float


@dataclass(frozen=True, slots=True)
class Result:
    """How a search ended.

    Attributes:
        setting: What is held now; None when nothing was trusted to meet the SLO and the default is back.
        trials: All trials, in order.
        stopped: Why it ended: the optimizer's reason, `budget` or `interrupted`.
        prediction: What the model expects of the setting; None without a setting or a model.
    """

    setting: Setting | None
    trials: tuple[Trial, ...]
    stopped: Stopped
    prediction: Prediction | None


def run_search(
    target: Target,
    problem: Problem,
    optimizer: Optimizer,
    *,
    max_trials: int,
    on_trial: Callable[[Trial], None] = lambda _: None,
) -> Result:
    """Searches `target` and leaves it with the incumbent applied, or with its default when there is none.

    Ctrl-C (KeyboardInterrupt) ends the search early with the same guarantee. Any other error puts the default back
    before it is passed on.

    Args:
        target: What is tuned.
        problem: What to search for; its space is (a part of) the target's.
        optimizer: Chooses the trials.
        max_trials: The trial budget, at least 1.
        on_trial: Called after every trial, for display and records.

    Raises:
        InputError: the budget is no positive number, or the target measures less than the problem needs (nothing
            has been applied then); or the objective has no finite value in the first trial.
    """
    check_problem(target, problem, max_trials)
    trials: list[Trial] = []
    stopped: Stopped
    try:
        stopped = _run_trials(target, problem, optimizer, max_trials=max_trials, trials=trials, on_trial=on_trial)
    except KeyboardInterrupt:
        stopped = "interrupted"
    except BaseException:
        target.restore()
        raise
    try:
        setting = optimizer.incumbent()
        prediction = None if setting is None else optimizer.predict(setting)
        if setting is None:
            target.restore()
        else:
            target.apply(setting)
    except BaseException:
        # Also a second Ctrl-C: the last trial must not stay applied.
        target.restore()
        raise
    return Result(setting=setting, trials=tuple(trials), stopped=stopped, prediction=prediction)


def check_problem(target: Target, problem: Problem, max_trials: int) -> None:
    """Refuses a search that can't work, before anything is applied.

    Raises:
        InputError: no trial is allowed, or the target does not measure what the SLO or the objective names.
    """
    if max_trials < 1:
        raise InputError("a search must have at least one trial", value=max_trials, place="max_trials")
    check_measured(target, problem.objective)


def check_measured(server: Server, objective: Objective) -> None:
    """Refuses a server that can't show whether an objective is reached.

    Raises:
        InputError: it does not measure what the objective or its SLO names.
    """
    for place, named in (("SLO", {objective.slo.quantity}), ("objective", objective.quantities)):
        missing = sorted(named - server.quantities)
        if missing:
            raise InputError(
                wrong=f"the target does not measure {', '.join(missing)}, which the {place} names",
                value=", ".join(missing),
                place=place,
                hint=f"{server.description} measures {', '.join(sorted(server.quantities))}",
            )


def _check_value(objective: Objective, measurement: Measurement) -> None:
    """Refuses an objective that already has no value where searches start; later on, such a trial is never the best."""
    value = objective.of(measurement)
    if not math.isfinite(value):
        raise InputError(
            f"the objective {objective.name!r} must be a finite number in the first trial",
            value=value,
            place="objective",
            hint="look at its logarithms, roots, powers and divisors",
        )


def _run_trials(
    target: Target,
    problem: Problem,
    optimizer: Optimizer,
    *,
    max_trials: int,
    trials: list[Trial],
    on_trial: Callable[[Trial], None],
) -> Stopped:
    for number in range(1, max_trials + 1):
        started = perf_counter()
        answer = optimizer.ask(max_trials - number + 1)
        chosen_in_s = perf_counter() - started
        if isinstance(answer, Finished):
            return answer.reason
        setting = target.apply(answer.setting)
        measurement = target.measure()
        if measurement.censored:
            _fall_back(target, optimizer.incumbent())
        elif number == 1:
            _check_value(problem.objective, measurement)
        started = perf_counter()
        observation = Observation(setting, measurement, problem.qps, asked=answer.setting)
        optimizer.tell(observation)
        incumbent = optimizer.incumbent()
        chosen_in_s += perf_counter() - started
        trials.append(Trial(number, setting, measurement, observation.meets(problem.slo), incumbent, chosen_in_s))
        on_trial(trials[-1])
    return "budget"


def _fall_back(target: Target, incumbent: Setting | None) -> None:
    """Ends the harm of a trial that was cut short at once; the next one is chosen afterwards."""
    if incumbent is None:
        target.restore()
    else:
        target.apply(incumbent)
