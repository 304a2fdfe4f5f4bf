"""One search: ask, apply, measure, tell, decide to stop; then hold the incumbent or put the default back.

`SearchSteps` decides and does nothing; `run_search` applies and measures what it decides, on a target. A controller
takes the same steps in its own time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.objective import Objective
from bayop.optimize import make_optimizer
from bayop.optimize.base import Finished, Observation, Optimizer, Prediction, Problem, StopReason
from bayop.slo import Slo
from bayop.space import Setting
from bayop.target.base import Target, Tunable, put

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


class SearchSteps:
    """A search step by step: `ask` for a setting, measure it, `tell` what was seen, until there is nothing to ask.

    Args:
        problem: What to search for.
        optimizer: Chooses the trials.
        max_trials: The trial budget, at least 1.
        timer: Seconds on a clock that never goes back, to time the optimizer by.
    """

    def __init__(self, problem: Problem, optimizer: Optimizer, *, max_trials: int, timer: Callable[[], float]) -> None:
        self.trials: list[Trial] = []
        """What was tried, in order."""
        self.stopped: Stopped = "interrupted"
        """Why there is nothing more to ask; until that is so, the search counts as interrupted."""
        self._problem = problem
        self._optimizer = optimizer
        self._max_trials = max_trials
        self._timer = timer
        self._pending: Setting = {}
        self._chosen_in_s = 0.0

    def ask(self) -> Setting | None:
        """The setting to try next; None when the search is over."""
        trials_left = self._max_trials - len(self.trials)
        if trials_left < 1:
            self.stopped = "budget"
            return None
        began = self._timer()
        answer = self._optimizer.ask(trials_left)
        self._chosen_in_s = self._timer() - began
        if isinstance(answer, Finished):
            self.stopped = answer.reason
            return None
        self._pending = answer.setting
        return answer.setting

    def tell(self, setting: Setting, measurement: Measurement) -> Trial:
        """Takes in what was measured with the asked setting, of which `setting` was in effect.

        Raises:
            InputError: the objective has no finite value in the first trial.
        """
        problem = self._problem
        if not self.trials and not measurement.censored:
            _check_value(problem.objective, measurement)
        began = self._timer()
        observation = Observation(setting, measurement, problem.qps, asked=self._pending)
        self._optimizer.tell(observation)
        incumbent = self._optimizer.incumbent()
        chosen_in_s = self._chosen_in_s + self._timer() - began
        number = len(self.trials) + 1
        trial = Trial(number, setting, measurement, observation.meets(problem.slo), incumbent, chosen_in_s)
        self.trials.append(trial)
        return trial

    @property
    def incumbent(self) -> Setting | None:
        """What to hold if the search ended now; None is the default."""
        return self._optimizer.incumbent()


def tune(
    target: Target,
    slo: Slo | str,
    *,
    objective: str = "power",
    optimizer: str | Callable[..., Optimizer] = "grey-box",
    headroom: float = 0.0,
    max_trials: int = 15,
    seed: int = 0,
    on_trial: Callable[[Trial], None] = lambda _: None,
) -> Result:
    """Searches a target as `bayop tune` does, and leaves the best setting applied, or the default when there is none.

    Every knob is searched, and none left on `auto`. A search with a history, or of a part of the space, is a `Problem`
    for `run_search`. Whoever does not want to keep the result calls `target.restore()`.

    Args:
        target: What is tuned.
        slo: The latency objective; as text, with its unit: `p99<500us`.
        objective: What is minimised: `power`, `rp`, `latency`, `edp`, or an expression such as `power_w * p99_us`.
        optimizer: Who chooses: a name that `make_optimizer` knows, or what makes one from a problem and a seed, such as
            a class.
        headroom: How far the latency must stay below the SLO's limit, as a share of it.
        max_trials: The trial budget, at least 1.
        seed: Of the optimizer.
        on_trial: Called after every trial.

    Returns:
        The setting that is applied now (None for the default), all trials, why the search ended, and what the
        optimizer's model expects of the setting.

    Raises:
        InputError: an argument can't be used, or the target does not measure what it names; nothing is applied then.

    Example:
        >>> from bayop import study_target, tune
        >>> server = study_target("example:memcached", os="linux", qps=600_000, seed=0)
        >>> result = tune(server, "p99<500us")
        >>> result.stopped, len(result.trials) < 10
        ('converged', True)
        >>> server.measure()["power_w"] < 0.6 * server.baseline()["power_w"]
        True
    """
    slo = Slo.parse(slo) if isinstance(slo, str) else slo
    problem = Problem(
        target.space.without_auto(),
        slo,
        Objective.parse(objective, slo),
        target.qps,
        headroom=headroom,
        small_steps=target.is_live,
    )
    check_problem(target, problem, max_trials)
    if isinstance(optimizer, str):
        chooser = make_optimizer(optimizer, problem, seed=seed)
    else:
        chooser = optimizer(problem, seed=seed)
    return run_search(target, problem, chooser, max_trials=max_trials, on_trial=on_trial)


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

    Example:
        >>> from bayop import Objective, Problem, Slo, make_optimizer, run_search, study_target
        >>> server = study_target("example:memcached", os="linux", qps=600_000, seed=0)
        >>> slo = Slo.parse("p99<500us")
        >>> problem = Problem(server.space, slo, Objective.parse("power", slo), server.qps)
        >>> optimizer = make_optimizer("grid", problem, seed=0)
        >>> result = run_search(server, problem, optimizer, max_trials=6)
        >>> result.stopped, len(result.trials)
        ('budget', 6)
    """
    check_problem(target, problem, max_trials)
    search = SearchSteps(problem, optimizer, max_trials=max_trials, timer=perf_counter)
    try:
        while (proposal := search.ask()) is not None:
            effective = target.apply(proposal)
            measurement = target.measure()
            if measurement.censored:
                # Ends the harm at once; the next trial is chosen afterwards.
                put(target, search.incumbent)
            on_trial(search.tell(effective, measurement))
    except KeyboardInterrupt:
        search.stopped = "interrupted"
    except BaseException:
        target.restore()
        raise
    try:
        setting = search.incumbent
        prediction = None if setting is None else optimizer.predict(setting)
        put(target, setting)
    except BaseException:
        # Also a second Ctrl-C: the last trial must not stay applied.
        target.restore()
        raise
    return Result(setting=setting, trials=tuple(search.trials), stopped=search.stopped, prediction=prediction)


def check_problem(target: Target, problem: Problem, max_trials: int) -> None:
    """Refuses a search that can't work, before anything is applied.

    Raises:
        InputError: no trial is allowed, or the target does not measure what the SLO or the objective names.
    """
    if max_trials < 1:
        raise InputError("a search must have at least one trial", value=max_trials, place="max_trials")
    check_measured(target, problem.objective)


def check_measured(tunable: Tunable, objective: Objective) -> None:
    """Refuses a server that can't show whether an objective is reached.

    Raises:
        InputError: it does not measure what the objective or its SLO names.
    """
    for place, quantities in (("SLO", {objective.slo.quantity}), ("objective", objective.quantities)):
        missing = sorted(quantities - tunable.quantities)
        if missing:
            raise InputError(
                wrong=f"the target does not measure {', '.join(missing)}, which the {place} names",
                value=", ".join(missing),
                place=place,
                hint=f"{tunable.description} measures {', '.join(sorted(tunable.quantities))}",
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
