"""The controller: hold a setting, watch it window by window, search again when a trigger fires, hold again.

A state machine without I/O: `poll` takes the time and what was seen, and answers what to do next and until when.
`control/drive.py` does it to a plant in virtual time; whoever drives a live one does the same with a clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from bayop.control.guard import Guard
from bayop.control.history import History
from bayop.control.ledger import LedgerWindow, Phase, Search
from bayop.control.triggers import Situation, Trigger
from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.objective import Objective
from bayop.optimize.base import Observation, Optimizer, Problem
from bayop.search import SearchSteps
from bayop.slo import Slo
from bayop.space import Setting, Space

_INSTANT_S = 1e-6


@dataclass(frozen=True, slots=True)
class Policy:
    """How a controller behaves.

    Attributes:
        space: The settings that its searches choose from.
        slo: The latency objective.
        objective: What is minimised.
        trigger: When to search again; None never searches and leaves the server in its default.
        guard: What to do at once when a held setting misses the SLO; None does nothing.
        trial_s: Length of a trial's window (20 s in [D]).
        watch_s: Length of the windows in which a held setting is watched; multiples of it are their ends.
        max_trials: Trial budget of one search.
        headroom: How far its searches stay below the SLO's limit, as a share of it.
    """

    space: Space
    slo: Slo
    objective: Objective
    trigger: Trigger | None
    guard: Guard | None
    trial_s: float = 20.0
    watch_s: float = 60.0
    max_trials: int = 15
    headroom: float = 0.0

    def __post_init__(self) -> None:
        if not (self.trial_s > 0 and self.watch_s > 0):
            raise InputError("windows must last longer than nothing", value=(self.trial_s, self.watch_s))


@dataclass(frozen=True, slots=True)
class Apply:
    """Put a setting in effect, None for the default, and answer with what then is."""

    setting: Setting | None


@dataclass(frozen=True, slots=True)
class Watch:
    """Leave everything as it is until then, and answer with what was measured; earlier when the window was cut short.

    Attributes:
        until_s: When the window ends.
    """

    until_s: float


@dataclass(frozen=True, slots=True)
class Done:
    """The end has come. What is in effect stays."""


Action = Apply | Watch | Done


@dataclass(frozen=True, slots=True)
class Applied:
    """What is in effect, None for the default; rounding may have changed what was asked for."""

    setting: Setting | None


Answer = Applied | Measurement


@dataclass(slots=True)
class _Running:
    """The search that is under way."""

    number: int
    reason: str
    start_s: float
    qps: float
    steps: SearchSteps


class Controller:
    """Keeps a plant at a good setting while its load changes.

    Decisions depend on nothing but what was seen, the policy and the optimizer's seed, so the same day gives the same
    decisions. A window that was cut short counts as a miss, in a trial and in a hold alike.

    Args:
        policy: How to behave.
        make_optimizer: Makes the optimizer of one search from its problem and its number (1, 2, ...).
        end_s: When to stop; no search is begun that could run past it.
        history: What is known from before, and remembered.
        timer: Seconds on a clock that never goes back, to time the optimizer by; no decision depends on it.
        on_window: Called after each window.
        on_search: Called after each search.
    """

    def __init__(
        self,
        policy: Policy,
        make_optimizer: Callable[[Problem, int], Optimizer],
        *,
        end_s: float = math.inf,
        history: History | None = None,
        timer: Callable[[], float] = lambda: 0.0,
        on_window: Callable[[LedgerWindow], None] = lambda _: None,
        on_search: Callable[[Search], None] = lambda _: None,
    ) -> None:
        self.held: Setting | None = None
        """The setting that is held between searches; None for the default."""
        self._policy = policy
        self._make_optimizer = make_optimizer
        self._end_s = end_s
        self._history = History() if history is None else history
        self._timer = timer
        self._on_window = on_window
        self._on_search = on_search
        self._in_effect: Setting | None = None
        self._fallen_back = False
        self._then: Callable[[float], Action] = self._decide
        """What follows an `Applied`."""
        self._watched_from_s = 0.0
        self._qps = 0.0
        self._running: _Running | None = None
        self._last_search: Search | None = None
        self._last_window: LedgerWindow | None = None

    def poll(self, now_s: float, qps: float, answer: Answer | None = None) -> Action:
        """What to do next.

        Args:
            now_s: The time.
            qps: Offered load now, in requests/s, as the server's own counters show it.
            answer: The answer to the last action; None at the start, when the default is in effect.
        """
        watched_qps, self._qps = self._qps, qps
        if isinstance(answer, Measurement):
            return self._end_watch(now_s, watched_qps, answer)
        if answer is not None:
            self._in_effect = answer.setting
        then, self._then = self._then, self._decide
        return then(now_s)

    def interrupt(self, now_s: float) -> Action:
        """What to do when no time is left: a search ends with its incumbent, a hold stays."""
        if self._running is None:
            return Done()
        self._running.steps.stopped = "interrupted"
        return self._end_search(now_s, self._running)

    def _decide(self, now_s: float) -> Action:
        if self._running is not None:
            return self._next_trial(now_s, self._running)
        if now_s >= self._end_s - _INSTANT_S:
            return Done()
        policy, left_s = self._policy, self._end_s - now_s
        room = policy.max_trials
        if left_s < room * policy.trial_s:
            room = math.floor(left_s / policy.trial_s + _INSTANT_S)
        reason = self._reason(now_s)
        if reason is not None and room >= 1:
            self._running = self._begin_search(now_s, reason, room)
            return self._next_trial(now_s, self._running)
        return self._watch(now_s, min(self._end_s, self._next_end_s(now_s)))

    def _next_end_s(self, now_s: float) -> float:
        watch_s = self._policy.watch_s
        return (math.floor(now_s / watch_s + _INSTANT_S) + 1) * watch_s

    def _watch(self, now_s: float, until_s: float) -> Action:
        self._watched_from_s = now_s
        return Watch(until_s)

    def _reason(self, now_s: float) -> str | None:
        trigger = self._policy.trigger
        if trigger is None:
            return None
        if self._last_search is None:
            return "start"
        if self._last_window is None or self._last_window.end_s <= self._last_search.end_s + _INSTANT_S:
            return None  # What a search found is held and watched before anything starts the next one.
        return trigger.fires(Situation(now_s, self._last_window, self._last_search, self._fallen_back))

    def _begin_search(self, now_s: float, reason: str, max_trials: int) -> _Running:
        policy, number, qps = self._policy, 1 if self._last_search is None else self._last_search.number + 1, self._qps
        problem = Problem(policy.space, policy.slo, policy.objective, qps, self._history.near(qps), policy.headroom)
        optimizer = self._make_optimizer(problem, number)
        steps = SearchSteps(problem, optimizer, max_trials=max_trials, timer=self._timer)
        return _Running(number, reason, now_s, qps, steps)

    def _next_trial(self, now_s: float, running: _Running) -> Action:
        setting = running.steps.ask()
        if setting is None:
            return self._end_search(now_s, running)
        self._then = lambda begun_s: self._watch(begun_s, begun_s + self._policy.trial_s)
        return Apply(setting)

    def _end_search(self, now_s: float, running: _Running) -> Action:
        steps, incumbent = running.steps, running.steps.incumbent
        trials = tuple(steps.trials)
        for trial in trials:
            self._history.add(Observation(trial.setting, trial.measurement, running.qps))
        self._last_search = Search(
            running.number, running.reason, running.start_s, now_s, running.qps, trials, steps.stopped, incumbent
        )
        self._running, self._fallen_back, self.held = None, False, incumbent
        self._on_search(self._last_search)
        return Apply(incumbent)

    def _end_watch(self, now_s: float, qps: float, measurement: Measurement) -> Action:
        running = self._running
        window = LedgerWindow.of(
            measurement,
            self._policy.slo,
            start_s=self._watched_from_s,
            duration_s=now_s - self._watched_from_s,
            phase=self._phase(),
            setting=self._in_effect,
            qps=qps,
            search=None if running is None else running.number,
        )
        self._last_window = window
        self._on_window(window)
        if running is None or self._in_effect is None:
            return self._judge_hold(now_s, window, measurement, qps)
        relief = running.steps.incumbent
        running.steps.tell(self._in_effect, measurement)
        # The harm of a trial that was cut short ends before the next one is chosen.
        return Apply(relief) if measurement.censored else self._next_trial(now_s, running)

    def _judge_hold(self, now_s: float, window: LedgerWindow, measurement: Measurement, qps: float) -> Action:
        if self.held is not None:
            self._history.add(Observation(self.held, measurement, qps))
        policy = self._policy
        if policy.guard is not None and not window.meets_slo:
            safer = policy.guard.fall_back(policy.space, policy.slo, qps, self.held, self._history.near(qps))
            if safer is not None:
                self._then = self._fell_back
                return Apply(safer)
        return self._decide(now_s)

    def _fell_back(self, now_s: float) -> Action:
        self.held, self._fallen_back = self._in_effect, True
        return self._decide(now_s)

    def _phase(self) -> Phase:
        if self._running is not None:
            return "trial"
        if self.held is None:
            return "default"
        return "fall-back" if self._fallen_back else "hold"
