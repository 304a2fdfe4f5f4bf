"""One search: ask, apply, measure, tell, decide to stop; then hold the incumbent or put the default back.

What is held may be watched for some windows more. Every one of them teaches, and the setting moves on to a neighbour
that has become almost surely better and safe.

`SearchSteps` decides and does nothing; `run_search` applies and measures what it decides, on a target. A controller
takes the same steps in its own time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import fmean
from time import perf_counter
from typing import Literal

from bayop.errors import InputError, Parameter
from bayop.measurement import Measurement
from bayop.objective import Objective
from bayop.optimize import make_optimizer
from bayop.optimize.base import (
    Finished,
    Observation,
    Optimizer,
    Prediction,
    Problem,
    StopReason,
    last_window,
    to_hold,
)
from bayop.relative_slo import as_slo
from bayop.slo import Slo
from bayop.space import Setting, default_setting, is_default
from bayop.target.base import Measurable, Target, put

Halt = Literal["quiet", "overspent"]
"""Why nothing may be tried for now: the hours are to be quiet, or the error budget is spent."""

Stopped = Literal[StopReason, "budget", "interrupted", Halt]


@dataclass(frozen=True, slots=True)
class Trial:
    """One setting, applied and measured: a trial of a search, or a window of the hold after it.

    Attributes:
        number: Counts from 1, in a hold anew.
        setting: What was in effect.
        measurement: What the window showed.
        meets_slo: Whether the measured latency meets the SLO; that of a window that was cut short never does.
        incumbent: The setting that BayOp would hold if it had to stop after this trial; None for the default.
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
        setting: What is held now: `auto` for every knob when the default is best; None when nothing was trusted to meet
            the SLO and the default is back.
        trials: All trials of the search, in order.
        stopped: Why it ended, by the optimizer or around it.
        prediction: What the model expects of the setting; None without a setting or a model.
    """

    setting: Setting | None
    trials: tuple[Trial, ...]
    stopped: Stopped
    prediction: Prediction | None

    @property
    def is_default(self) -> bool:
        """Whether the result is to leave every knob to the operating system."""
        return self.setting is not None and is_default(self.setting)


class SearchSteps:
    """A search step by step: `ask` for a setting, measure it, `tell` what was seen, until there is nothing to ask.

    A hold goes on in the same way: `hold` says what to hold next, and `watch` takes in what was seen.

    Args:
        problem: What to search for.
        optimizer: Chooses the trials.
        max_trials: The trial budget, at least 1.
        timer: Seconds on a clock that never goes back, to time the optimizer by.
    """

    def __init__(self, problem: Problem, optimizer: Optimizer, *, max_trials: int, timer: Callable[[], float]) -> None:
        self.trials: list[Trial] = []
        """What was tried, in order."""
        self.windows: list[Trial] = []
        """What was held after the search, in order."""
        self.stopped: Stopped = "interrupted"
        """Why there is nothing more to ask; until that is so, the search counts as interrupted."""
        self._problem = problem
        self._optimizer = optimizer
        self._max_trials = max_trials
        self._timer = timer
        self._pending: Setting | None = None
        """What was asked for, of which the next window is; None where nothing was."""
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
        if not self.trials and not measurement.censored:
            _check_value(self._problem.objective, measurement)
        return self._take(self.trials, setting, measurement)

    def hold(self, held: Setting | None = None) -> Setting | None:
        """What to hold in the next window, polished where the optimizer can do that; None is the default."""
        began = self._timer()
        setting = None if self.is_default_best else to_hold(self._optimizer, held)
        self._chosen_in_s = self._timer() - began
        if setting is not None:
            self._pending = setting
        return setting

    def watch(self, setting: Setting, measurement: Measurement) -> Trial:
        """Takes in a window of what was to be held, of which `setting` was in effect."""
        return self._take(self.windows, setting, measurement)

    def _take(self, trials: list[Trial], setting: Setting, measurement: Measurement) -> Trial:
        began = self._timer()
        observation = Observation(setting, measurement, self._problem.qps, asked=self._pending)
        self._pending = None
        self._optimizer.tell(observation)
        trial = Trial(len(trials) + 1, setting, measurement, observation.meets(self._problem.slo), None, 0.0)
        trials.append(trial)
        incumbent = self.incumbent
        chosen_in_s = self._chosen_in_s + self._timer() - began
        trials[-1] = replace(trial, incumbent=incumbent, chosen_in_s=chosen_in_s)
        return trials[-1]

    @property
    def incumbent(self) -> Setting | None:
        """What to hold if the search ended now; None is the default."""
        incumbent = self._optimizer.incumbent()
        return None if self._is_default_better_than(incumbent) else incumbent

    @property
    def is_default_best(self) -> bool:
        """Whether the default meets the SLO for no more than the optimizer's incumbent, where there is one."""
        return self._is_default_better_than(self._optimizer.incumbent())

    def _is_default_better_than(self, incumbent: Setting | None) -> bool:
        told = [o.measurement for o in self._problem.history]
        told += [t.measurement for t in (*self.trials, *self.windows)]
        default = self._problem.default_objective(last_window(told).get("duration_s") if told else None)
        if default is None:
            return False
        return incumbent is None or default <= self._expected_objective(incumbent)

    def _expected_objective(self, setting: Setting) -> float:
        """What the optimizer's model expects of a setting; without a model, the mean of what was measured."""
        prediction = self._optimizer.predict(setting)
        if prediction is not None:
            return prediction.objective
        windows = [t.measurement for t in (*self.trials, *self.windows) if t.setting == setting]
        return fmean(self._problem.objective.of(m) for m in windows if not m.censored)


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
        slo: The latency objective; as text, with its unit: `p99<500us`. Several at once, some relative to the default:
            `p99<500us,p50<1.2*default,qps>0.98*default`.
        objective: What is minimised: `power`, `rp`, `latency`, `edp`, or an expression such as `power_w * p99_us`.
        optimizer: Who chooses: a name that `make_optimizer` knows, or what makes one from a problem and a seed, such as
            a class.
        headroom: How far the latency must stay below the SLO's limit, as a share of it.
        max_trials: The trial budget, at least 1.
        seed: Of the optimizer.
        on_trial: Called after every trial.

    Returns:
        The setting that is applied now (`auto` for every knob when the default is best, None when nothing was trusted),
        all trials, why the search ended, and what the optimizer's model expects of the setting.

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
    baseline = target.baseline()
    slo = as_slo(slo, baseline)
    problem = Problem(
        target.space.without_auto(),
        slo,
        Objective.parse(objective, slo),
        target.qps,
        headroom=headroom,
        small_steps=target.is_live,
    )
    check_problem(target, problem, max_trials)
    problem = replace(problem, default=baseline)
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
    hold: int = 0,
    on_trial: Callable[[Trial], None] = lambda _: None,
    on_window: Callable[[Trial], None] = lambda _: None,
) -> Result:
    """Searches `target` and leaves it with the incumbent applied, or with its default when there is none.

    A hold after the search goes on learning. It ends early when nothing is trusted any more, or the default is best.

    Ctrl-C (KeyboardInterrupt) ends the search early with the same guarantee. Any other error puts the default back
    before it is passed on.

    Args:
        target: What is tuned.
        problem: What to search for; its space is (a part of) the target's.
        optimizer: Chooses the trials.
        max_trials: The trial budget, at least 1.
        hold: For how many windows to hold what was found, and to polish it.
        on_trial: Called after every trial, for display and records.
        on_window: Called after every window of the hold.

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
        held: Setting | None = None
        while len(search.windows) < hold and (held := search.hold(held)) is not None:
            effective = target.apply(held)
            measurement = target.measure()
            if measurement.censored:
                put(target, None)
            on_window(search.watch(effective, measurement))
    except KeyboardInterrupt:
        search.stopped = "interrupted"
    except BaseException:
        target.restore()
        raise
    try:
        setting = search.incumbent
        prediction = None if setting is None else optimizer.predict(setting)
        put(target, setting)
        if search.is_default_best:
            setting = default_setting(problem.space)
    except BaseException:
        # Also a second Ctrl-C: the last trial must not stay applied.
        target.restore()
        raise
    return Result(setting=setting, trials=tuple(search.trials), stopped=search.stopped, prediction=prediction)


def check_problem(target: Target, problem: Problem, max_trials: int) -> None:
    """Refuses a search that can't work, before anything is applied.

    Raises:
        InputError: no trial is allowed, the SLO asks for more throughput than there is load, or the target does not
            measure what the SLO or the objective names.
    """
    if max_trials < 1:
        raise InputError("a search must have at least one trial", value=max_trials, parameter="max_trials")
    floor = problem.slo.least_qps
    if floor is not None and floor > problem.qps:
        raise InputError(
            "an SLO's throughput must be no more than the offered load",
            value=f"{floor:g} qps",
            place="SLO",
            hint=f"{problem.qps:g} qps are offered; a few per cent less leave room for how windows scatter",
        )
    check_measured(target, problem.objective)


def check_measured(tunable: Measurable, objective: Objective) -> None:
    """Refuses a server that can't show whether an objective is reached.

    Raises:
        InputError: it does not measure what the objective or its SLO names.
    """
    for place, quantities in (
        ("SLO", {*objective.slo.quantities}),
        (Parameter("objective"), objective.quantities),
    ):
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
            parameter="objective",
            hint="look at its logarithms, roots, powers and divisors",
        )
