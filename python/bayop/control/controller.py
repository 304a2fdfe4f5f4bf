"""The controller: hold a setting, watch it window by window, search again when a trigger fires, hold again.

A state machine without I/O: `poll` takes the time and what was seen, and answers what to do next and until when.
`control/drive.py` does it to a plant in virtual time; whoever drives a live one does the same with a clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Final, get_args

from bayop.control.actions import Action, Answer, Apply, Done, FellBack, Watch
from bayop.control.following import Following
from bayop.control.history import History
from bayop.control.ledger import LedgerWindow, Phase, Search
from bayop.control.notes import LetGo, Note, Polished
from bayop.control.phase import INSTANT_S, window_end_s
from bayop.control.policy import Policy
from bayop.control.polishing import Polishing
from bayop.control.running import Running
from bayop.control.switchbacks import Switchbacks
from bayop.control.triggers import Situation
from bayop.control.warm import Warm
from bayop.measurement import Measurement
from bayop.optimize.base import Observation, Optimizer, Problem
from bayop.search import Halt, SearchSteps
from bayop.space import Setting

ASKED_FOR: Final = "asked for"
"""The reason of a search that an operator wants."""


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
        halted: Why nothing may be tried at a time; None where it may. A search that is under way ends with what it has
            found, and a held setting that misses the SLO gives way to the default.
        may_search: Whether a search may begin now, for a reason; if not, the next window is watched first. What is
            known without a trial does not wait for it.
        switchbacks: When what is held is compared with the default, and what is known of that; None never does.
        warm: What is known for which load, and is held without a trial; None searches at every new load.
        on_window: Called after each window.
        on_search: Called after each search.
        on_note: Called after each switchback, polish, or letting go.
    """

    def __init__(
        self,
        policy: Policy,
        make_optimizer: Callable[[Problem, int], Optimizer],
        *,
        end_s: float = math.inf,
        history: History | None = None,
        timer: Callable[[], float] = lambda: 0.0,
        halted: Callable[[float], Halt | None] = lambda _: None,
        may_search: Callable[[str], bool] = lambda _: True,
        switchbacks: Switchbacks | None = None,
        warm: Warm | None = None,
        on_window: Callable[[LedgerWindow], None] = lambda _: None,
        on_search: Callable[[Search], None] = lambda _: None,
        on_note: Callable[[Note], None] = lambda _: None,
    ) -> None:
        self.held: Setting | None = None
        """The setting that is held between searches; None for the default."""
        self._policy = policy
        self._make_optimizer = make_optimizer
        self._end_s = end_s
        self._history = History() if history is None else history
        self._timer = timer
        self._halted = halted
        self._may_search = may_search
        self._warm = warm
        self._on_window = on_window
        self._on_search = on_search
        self._on_note = on_note
        self._switchbacks = Switchbacks(None) if switchbacks is None else switchbacks
        self._polishing: Polishing | None = None
        self._following: Following | None = None
        self.in_effect: Setting | None = None
        """The setting that is in effect; None for the default."""
        self._fallen_back = False
        self._then: Callable[[float], Action] = self._decide
        """What follows an `Applied`."""
        self._watched_from_s = 0.0
        self._qps = 0.0
        self._running: Running | None = None
        self._is_asked, self._is_watching = False, False
        self._due: tuple[str, int] | None = None
        """Reason and trial budget of a search that the default's window comes before."""
        self._last_search: Search | None = None
        self._last_window: LedgerWindow | None = None

    @property
    def qps(self) -> float:
        """Offered load at the last `poll`, in requests/s; 0 before the first."""
        return self._qps

    @property
    def searching(self) -> bool:
        """Whether what is applied now is for a trial's time; else it is held."""
        return self._running is not None

    @property
    def phase(self) -> Phase:
        """What the time now is spent on."""
        if self._running is not None:
            return "trial"
        if self._due is not None:
            return "default"
        if self._switchbacks.under_way:
            return "switchback"
        if self._fallen_back:
            return "fall-back"
        return "default" if self.held is None else "hold"

    @property
    def between_searches(self) -> bool:
        """Whether no search is under way, nor the window of the default that comes before one."""
        return self._running is None and self._due is None

    @property
    def may_end_window(self) -> bool:
        """Whether a window is under way that belongs to no search: `poll` may be called without its answer.

        Nor to a switchback: the setting that is held would not be in effect.
        """
        return self._is_watching and self.between_searches and not self._switchbacks.under_way

    def ask(self) -> None:
        """Has the next `poll` begin a search, unless nothing may be tried."""
        self._is_asked = True

    def problem(self, default: Measurement | None = None, qps: float | None = None) -> Problem:
        """What a search of this moment looks for, with what is known; another thread may ask, too.

        Args:
            default: What a window of the default has shown; None where none was measured.
            qps: The load that it is for; None for that of this moment.
        """
        qps = qps or self._qps
        return self._policy.problem(qps, self._history.near(qps), default)

    def poll(self, now_s: float, qps: float, answer: Answer | None = None) -> Action:
        """What to do next.

        Args:
            now_s: The time.
            qps: Offered load now, in requests/s, as the server's own counters show it.
            answer: The answer to the last action; None at the start, when the default is in effect, and for a window
                that was ended before its time.
        """
        watched_qps, self._qps = self._qps, qps
        self._is_watching = False
        if isinstance(answer, Measurement):
            return self._end_watch(now_s, watched_qps, answer)
        if isinstance(answer, FellBack):
            return self._fall_back(now_s, watched_qps, answer)
        if answer is not None:
            self.in_effect = answer.setting
        then, self._then = self._then, self._decide
        return then(now_s)

    def interrupt(self, now_s: float) -> Action:
        """What to do when no time is left: a search ends with its incumbent, a hold stays."""
        if self._switchbacks.under_way:
            return Apply(self.held)
        if self._running is None:
            return Done()
        self._running.steps.stopped = "interrupted"
        return self._end_search(now_s, self._running)

    def _decide(self, now_s: float) -> Action:
        if self._running is not None:
            return self._next_trial(now_s, self._running)
        if self._is_over(now_s):
            return Done()
        policy = self._policy
        left_s = self._end_s - now_s - (policy.trial_s if policy.default_first else 0.0)
        room = policy.max_trials
        if left_s < room * policy.trial_s:
            room = math.floor(left_s / policy.trial_s + INSTANT_S)
        reason = self._reason(now_s)
        if reason is not None and reason != ASKED_FOR and (known := self._known(self._qps)) is not None:
            return self._take(now_s, reason, self._qps, known)
        if reason is not None and room >= 1:
            if self._may_search(reason):
                if policy.default_first:
                    self._due = (reason, room)
                    self._then = self._watch_trial
                    return Apply(None)
                self._running = self._begin_search(now_s, reason, room)
                return self._next_trial(now_s, self._running)
            self._is_asked = reason == ASKED_FOR  # which waits, too, and is not forgotten
        return self._prepare(now_s) or self._tend(now_s) or self._watch_on(now_s)

    def _is_over(self, now_s: float) -> bool:
        return now_s >= self._end_s - INSTANT_S

    def _watch_on(self, now_s: float) -> Action:
        policy = self._policy
        if self._is_over(now_s):
            return Done()
        return self._watch(now_s, min(self._end_s, window_end_s(now_s, policy.watch_s, policy.phase_s)))

    def _tend(self, now_s: float) -> Action | None:
        """What is done to a setting that is held, between two of its windows; None to go on holding it."""
        held, last = self.held, self._last_window
        if held is None or last is None or last.phase != "hold" or self._fallen_back:
            return None
        if (saving := self._switchbacks.verdict()) is not None:
            self._switchbacks.let_go(now_s)
            if self._warm is not None:
                self._warm.forget()
            self.held = self._polishing = self._following = None
            self._then = self._watch_on
            self._on_note(LetGo(held, saving))
            return Apply(None)
        if self._switchbacks.is_due(now_s, last) and now_s + 2 * self._policy.watch_s <= self._end_s:
            if self._halted(now_s) is None:
                self._switchbacks.begin(last)
                self._then = self._watch_on
                return Apply(None)
        elif self._halted(now_s) is None:
            setting = self._polishing.move(held) if self._polishing is not None else None
            if setting is None and self._following is not None and self._following.is_due(self._qps):
                setting = self._follow(held, self._following, self._qps)
            if setting is not None and setting != held:
                return self._move(setting, missed_slo=False)
        return None

    def _follow(self, held: Setting, following: Following, qps: float) -> Setting | None:
        return following.setting(self.problem(qps=qps), held, lambda p: self._make_optimizer(p, self._next))

    def _move(self, setting: Setting, *, missed_slo: bool) -> Action:
        """Holds another setting, and watches it whatever a trigger may say of the last window."""

        def moved(now_s: float) -> Action:
            instead_of, self.held = self.held, self.in_effect
            if instead_of is not None and self.held is not None and instead_of != self.held:
                if self._warm is not None:
                    self._warm.polish(self._qps, self.held)
                self._on_note(Polished(self.held, instead_of, self._qps, missed_slo))
            return self._watch_on(now_s)

        self._then = moved
        return Apply(setting)

    def _watch(self, now_s: float, until_s: float) -> Action:
        self._watched_from_s, self._is_watching = now_s, True
        return Watch(until_s)

    def _reason(self, now_s: float) -> str | None:
        trigger, is_asked, self._is_asked = self._policy.trigger, self._is_asked, False
        if trigger is None or (self._rests(now_s) and not is_asked) or self._halted(now_s) is not None:
            return None
        if is_asked:
            return ASKED_FOR
        last, search = self._last_window, self._last_search
        if search is None:
            return "start"
        is_early = last is not None and self._warm is not None and self._warm.awaits(now_s, last, search.qps)
        if last is None or last.end_s <= search.end_s + INSTANT_S or is_early:
            return None  # What a search found is held and watched before anything starts the next one.
        if search.stopped in get_args(Halt):
            return f"goes on, was {search.stopped}"
        return trigger.fires(Situation(now_s, last, search, self._fallen_back))

    def _rests(self, now_s: float) -> bool:
        """Whether the default is to stay, since what was held saved nothing, and it meets the SLO."""
        is_met = self._last_window is None or self._last_window.meets_slo
        return self.held is None and is_met and self._switchbacks.rests(now_s)

    def _known(self, qps: float) -> Setting | None:
        """What is known for another load than that of the last search."""
        if self._warm is None:
            return None
        problem, make = self.problem(qps=qps), self._make_optimizer
        return self._warm.setting(problem, self._last_search, lambda problem: make(problem, self._next))

    def _prepare(self, now_s: float) -> Action | None:
        """Holds what is known for a greater load, before that is there; None where nothing is to be done."""
        last = self._last_search
        if self._warm is None or last is None or self._rests(now_s) or self._halted(now_s) is not None:
            return None
        rise = self._warm.rise(now_s, max(last.qps, self._qps), self._known)
        return rise and self._take(now_s, f"schedule: load {rise[0] / self._qps - 1:+.0%} soon", *rise)

    def _take(self, now_s: float, reason: str, qps: float, setting: Setting) -> Action:
        """Holds what is known for a load, without a trial."""
        return self._end_with(Search(self._next, reason, now_s, now_s, qps, (), "warm", setting))

    @property
    def _next(self) -> int:
        """The number of the next search."""
        return 1 if self._last_search is None else self._last_search.number + 1

    def _begin_search(self, now_s: float, reason: str, max_trials: int, default: Measurement | None = None) -> Running:
        self._polishing = None
        problem, number = self.problem(default), self._next
        optimizer = self._make_optimizer(problem, number)
        steps = SearchSteps(problem, optimizer, max_trials=max_trials, timer=self._timer)
        return Running(number, reason, now_s, problem.qps, steps)

    def _next_trial(self, now_s: float, running: Running) -> Action:
        if (halt := self._halted(now_s)) is not None:
            running.steps.stopped = halt
            return self._end_search(now_s, running)
        setting = running.steps.ask()
        if setting is None:
            return self._end_search(now_s, running)
        self._then = self._watch_trial
        return Apply(setting)

    def _watch_trial(self, now_s: float) -> Action:
        return self._watch(now_s, now_s + self._policy.trial_s)

    def _end_search(self, now_s: float, running: Running) -> Action:
        steps, incumbent = running.steps, running.steps.incumbent
        place, seen = (running.number, running.reason, running.start_s, now_s, running.qps), tuple(steps.trials)
        action = self._end_with(Search(*place, seen, steps.stopped, incumbent))
        if incumbent is not None and self._policy.polish > 0:
            self._polishing = Polishing(steps, running.qps, self._policy.polish)
        return action

    def _end_with(self, search: Search) -> Action:
        self._last_search = search
        self._running, self._fallen_back, self.held, self._polishing = None, False, search.setting, None
        is_followed = self._policy.follow and search.setting is not None
        self._following = Following(search.qps) if is_followed else None
        if self._warm is not None:
            self._warm.add(search)
        self._on_search(search)
        return Apply(search.setting)

    def _end_watch(self, now_s: float, qps: float, measurement: Measurement) -> Action:
        is_switchback = self._switchbacks.under_way
        self._learn(qps, measurement)
        window, running = self._end_window(now_s, qps, measurement), self._running
        if is_switchback:
            self._then = self._watch_on
            return Apply(self.held)
        if self._due is not None:
            (reason, room), self._due = self._due, None
            self.held, self._fallen_back = None, False
            self._running = self._begin_search(now_s, reason, room, measurement)
            return self._next_trial(now_s, self._running)
        if running is None or self.in_effect is None:
            return self._judge_hold(now_s, window, measurement, qps)
        relief = running.steps.incumbent
        running.steps.tell(self.in_effect, measurement)
        # The harm of a trial that was cut short ends before the next one is chosen.
        return Apply(relief) if measurement.censored else self._next_trial(now_s, running)

    def _learn(self, qps: float, measurement: Measurement) -> None:
        """Remembers what a window has shown before it is told to anybody: who is killed now has lost nothing told."""
        running = self._running
        if running is not None and self.in_effect is not None:
            self._history.add(Observation(self.in_effect, measurement, running.qps))
        elif self.between_searches and self.held is not None and self.in_effect is not None:
            self._history.add(Observation(self.held, measurement, qps))

    def _fall_back(self, now_s: float, qps: float, answer: FellBack) -> Action:
        if answer.by_latency and self.held is not None:
            self._history.add(Observation(self.held, answer.measurement, qps))
        self._end_window(now_s, qps, answer.measurement, is_harm=answer.by_latency)
        self.in_effect = None
        return self._fell_back(now_s)

    def _end_window(self, now_s: float, qps: float, measurement: Measurement, *, is_harm: bool = True) -> LedgerWindow:
        running = self._running
        window = LedgerWindow.of(
            measurement,
            self._policy.slo,
            start_s=self._watched_from_s,
            duration_s=now_s - self._watched_from_s,
            phase=self.phase,
            setting=self.in_effect,
            qps=qps,
            search=None if running is None else running.number,
        )
        if not is_harm:
            window = replace(window, over_share=0.0)  # it was cut short, and nobody was seen to wait for too long
        self._last_window = window
        self._on_window(window)
        if (switched_back := self._switchbacks.see(window)) is not None:
            self._on_note(switched_back)
        return window

    def _judge_hold(self, now_s: float, window: LedgerWindow, measurement: Measurement, qps: float) -> Action:
        if self._polishing is not None:
            self._polishing.see(window, measurement)
        if self._following is not None:
            self._following.see(window)
        policy = self._policy
        if policy.guard is not None and not window.meets_slo:
            is_halted = self._halted(now_s) is not None
            if not is_halted and self._polishing is not None and (before := self._polishing.back()) is not None:
                return self._move(before, missed_slo=True)
            if not is_halted and (milder := self._milder(measurement, qps)) is not None:
                return self._move(milder, missed_slo=True)
            known = self._history.near(qps)
            safer = None if is_halted else policy.guard.fall_back(policy.space, policy.objective, qps, self.held, known)
            if safer is not None or (is_halted and self.held is not None):
                self._then = self._fell_back
                return Apply(safer)
        return self._decide(now_s)

    def _milder(self, measurement: Measurement, qps: float) -> Setting | None:
        """What to hold after a first window that has missed the SLO by little, as the model takes it.

        It may be what is held, where everything else says that the window was bad luck. None where a guard has to act.
        """
        held, following = self.held, self._following
        if held is None or following is None or measurement.censored or not following.may_be_luck:
            return None
        return self._follow(held, following, qps)

    def _fell_back(self, now_s: float) -> Action:
        self.held, self._fallen_back = self.in_effect, True
        self._polishing = self._following = None
        return self._decide(now_s)
