"""The long-running loop: hold a setting, watch it window by window, search again when a trigger fires, hold again."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from bayop.control.guard import Guard
from bayop.control.history import History
from bayop.control.ledger import Ledger, Phase, Search, Window
from bayop.control.timed import TimedTarget
from bayop.control.triggers import Situation, Trigger
from bayop.errors import InputError
from bayop.objective import Objective
from bayop.optimize.base import Observation, Optimizer, Problem
from bayop.search import run_search
from bayop.slo import Slo
from bayop.space import Setting, Space
from bayop.target.plant import Plant

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


class Controller:
    """Keeps a plant at a good setting while its load changes.

    Time is virtual: it is what the plant's windows take. Decisions depend on nothing but the plant's answers, the
    policy and the optimizer's seed, so the same day gives the same decisions.

    Args:
        plant: What is controlled; in its default.
        policy: How to behave.
        make_optimizer: Makes the optimizer of one search from its problem and its number (1, 2, ...).
        on_window: Called after each window.
        on_search: Called after each search.
    """

    def __init__(
        self,
        plant: Plant,
        policy: Policy,
        make_optimizer: Callable[[Problem, int], Optimizer],
        *,
        on_window: Callable[[Window], None] = lambda _: None,
        on_search: Callable[[Search], None] = lambda _: None,
    ) -> None:
        self.ledger = Ledger()
        self.held: Setting | None = None
        """The setting in effect between windows; None for the default."""
        self.interrupted = False
        self._plant = plant
        self._policy = policy
        self._make_optimizer = make_optimizer
        self._on_window = on_window
        self._on_search = on_search
        self._history = History()
        self._fallen_back = False

    def run(self, start_s: float, end_s: float) -> Ledger:
        """Controls the plant from `start_s` to `end_s` and returns the books.

        The plant is left with the last setting held. Ctrl-C ends the run early and leaves the plant the same way (the
        search's incumbent, or the default); any other error puts the default back before it is passed on.
        """
        now_s = start_s
        try:
            while now_s < end_s - _INSTANT_S and not self.interrupted:
                reason = self._reason(now_s)
                room = math.floor((end_s - now_s) / self._policy.trial_s + _INSTANT_S)
                if reason is not None and room >= 1:
                    now_s = self._search(now_s, reason, min(room, self._policy.max_trials))
                else:
                    now_s = self._hold(now_s, end_s)
        except KeyboardInterrupt:
            self.interrupted = True
        except BaseException:
            self._plant.restore()
            self.held = None
            raise
        return self.ledger

    def _reason(self, now_s: float) -> str | None:
        trigger = self._policy.trigger
        if trigger is None:
            return None
        if not self.ledger.searches:
            return "start"
        searched = self.ledger.searches[-1]
        last = self.ledger.windows[-1] if self.ledger.windows else None
        if last is None or last.end_s <= searched.end_s + _INSTANT_S:
            return None  # What a search found is held and watched before anything starts the next one.
        return trigger.fires(Situation(now_s, last, searched, self._fallen_back))

    def _search(self, start_s: float, reason: str, max_trials: int) -> float:
        policy, number, qps = self._policy, len(self.ledger.searches) + 1, self._plant.load_at(start_s)
        problem = Problem(policy.space, policy.slo, policy.objective, qps, self._history.near(qps), policy.headroom)
        target = TimedTarget(self._plant, policy.slo, start_s, policy.trial_s, number, on_window=self._record)
        result = run_search(target, problem, self._make_optimizer(problem, number), max_trials=max_trials)
        for trial in result.trials:
            self._history.add(Observation(trial.setting, trial.measurement, qps))
        self.held = result.setting
        self._fallen_back = False
        self.interrupted = result.stopped == "interrupted"
        search = Search(number, reason, start_s, target.now_s, qps, result.trials, result.stopped, result.setting)
        self.ledger.searches.append(search)
        self._on_search(search)
        return target.now_s

    def _hold(self, start_s: float, end_s: float) -> float:
        watch_s, slo = self._policy.watch_s, self._policy.slo
        next_s = min(end_s, (math.floor(start_s / watch_s + _INSTANT_S) + 1) * watch_s)
        qps = self._plant.load_at(start_s)
        measurement = self._plant.measure(start_s, next_s - start_s)
        window = Window.measured(
            measurement,
            slo,
            start_s=start_s,
            duration_s=next_s - start_s,
            phase=self._phase(),
            setting=self.held,
            qps=qps,
        )
        self._record(window)
        if self.held is not None:
            self._history.add(Observation(self.held, measurement, qps))
        if self._policy.guard is not None and not window.meets_slo:
            self._fall_back(self._policy.guard, qps)
        return next_s

    def _phase(self) -> Phase:
        if self.held is None:
            return "default"
        return "fall-back" if self._fallen_back else "hold"

    def _fall_back(self, guard: Guard, qps: float) -> None:
        policy = self._policy
        setting = guard.fall_back(policy.space, policy.slo, qps, self.held, self._history.near(qps))
        if setting is not None:
            self.held = self._plant.apply(setting)
            self._fallen_back = True

    def _record(self, window: Window) -> None:
        self.ledger.add(window)
        self._on_window(window)
