"""Ask and tell: safe trials outwards from the fastest setting, until no safe one promises an improvement."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bayop.optimize.base import Finished, Observation, Prediction, Problem, Proposal
from bayop.optimize.grey_box.belief import Belief
from bayop.optimize.grey_box.candidates import Candidates
from bayop.optimize.grey_box.caution import Caution
from bayop.optimize.grey_box.inputs import Array, Encoder, typical_delay_us
from bayop.optimize.grey_box.outputs import Outputs
from bayop.optimize.grey_box.situation import Situation, View
from bayop.optimize.rounding import Rounding
from bayop.slo import Slo
from bayop.space import Setting, fastest_setting, setting_key

_Detour = Literal["lesson", "venture"]
# A window can be bad luck, two are not.
_ENOUGH_WINDOWS = 2


class GreyBox:
    """Utilization, latency and power share the parameters of one analytic prior; see the modules of this package.

    Args:
        problem: What to search for.
        seed: Part of the contract; every decision here is deterministic.
        caution: How much risk the search takes.
        use_prior: False switches the analytic prior off, which leaves plain constrained Bayesian optimization.
    """

    def __init__(
        self, problem: Problem, *, seed: int = 0, caution: Caution | None = None, use_prior: bool = True
    ) -> None:
        del seed
        self._problem = problem
        self._caution = caution or Caution()
        self._encoder = Encoder(problem.space, typical_delay_us(problem.space, problem.slo))
        self._outputs = Outputs.of(problem, explained=use_prior and self._encoder.explained)
        self._candidates = Candidates(problem.space)
        self._rounding = Rounding()
        self._fastest = fastest_setting(problem.space)
        self._observations = [self._in_effect(observation) for observation in problem.history]
        self._situation: Situation | None = None
        self._detour: tuple[_Detour, Setting] | None = None
        self._detours: Counter[_Detour] = Counter()

    def ask(self, trials_left: int) -> Proposal | Finished:  # noqa: ARG002 -- the contract's signature
        """The setting that promises most among those that are safe enough; else what is learned most from."""
        self._detour = None
        if not self._observations:
            return Proposal(self._fastest)
        now = self._now()
        pool = now.view(self._pool(now))
        is_lost = now.incumbent is None and self._problem.objective.constrained
        if is_lost and not now.risk.allowed(pool.belief).any():
            return self._look(now, pool)
        reference = now.reference(self._fastest)
        least = self._caution.worth * abs(reference)
        if now.incumbent is None and self._problem.default_objective() is None:
            least = -math.inf
        setting = self._promising(now, pool, reference, least)
        if setting is None:
            setting = self._take(now, pool, reference)
        return Finished("converged") if setting is None else Proposal(setting)

    def tell(self, observation: Observation) -> None:
        """Takes in one trial; the model is updated when it is next needed."""
        self._observations.append(self._in_effect(observation))
        if observation.asked is not None:
            self._rounding.learn(observation.asked, observation.setting)
            if self._detour is not None and setting_key(observation.asked) == setting_key(self._detour[1]):
                self._detours[self._detour[0]] += 1
        self._situation = self._detour = None

    def incumbent(self) -> Setting | None:
        """Least expected objective among this load's settings that met the SLO and are trusted to go on so."""
        incumbent = self._now().incumbent if self._observations else None
        return incumbent.setting if incumbent else None

    def polish(self, held: Setting | None) -> Setting | None:
        """What is held, unless the incumbent, or a surely safe setting a notch away, promises to be better."""
        if not self._observations:
            return None
        now, caution = self._now(), self._caution
        if now.incumbent is None:
            return None
        best = now.incumbent.setting
        held = best if held is None else held
        own = now.view([held]).belief
        reference = float(own.objective[0])
        worth = caution.polish_worth * abs(reference)
        if own.safe[0] < caution.trust or now.incumbent.objective <= reference - worth:
            held, reference = best, now.incumbent.objective
            own = now.view([held]).belief
        highest_us, dearest = (1.0 + caution.notch) * own.latency_us, reference + caution.bet * abs(reference)

        def promise(belief: Belief) -> Array:
            allowed = now.risk.bearable(belief) & (belief.safe >= caution.polish)
            allowed &= (belief.latency_us <= highest_us).all(axis=0) & (belief.objective <= dearest)
            return np.where(allowed, self._promise(belief, reference), -np.inf)

        setting, gain = self._best(now, now.view(self._pool(now)), promise)
        return setting if gain >= worth else held

    def follow(self, held: Setting) -> Setting | None:
        """The surely safe setting of least expected objective, no more than a notch above `held` in latency.

        Loads are inputs of the model, so what is known at others answers for one where nothing was tried. What is held
        stays while it is trusted and nothing else promises what is worth a trial.
        """
        if not self._observations:
            return None
        now, caution = self._now(), self._caution
        own = now.view([held]).belief
        highest_us = (1.0 + caution.notch) * own.latency_us

        def merit(belief: Belief) -> Array:
            allowed = now.risk.bearable(belief) & (belief.safe >= caution.polish)
            allowed &= (belief.latency_us <= highest_us).all(axis=0)
            return np.where(allowed, -belief.objective, -np.inf)

        pool = now.view([*self._candidates.settings, *self._candidates.near([held])])
        setting, best = self._best(now, pool, merit)
        if best == -np.inf:
            return None
        gain = float(own.objective[0]) + best
        is_fine = own.safe[0] >= caution.trust and gain < caution.worth * abs(float(own.objective[0]))
        return held if is_fine else setting

    def predict(self, setting: Setting) -> Prediction | None:
        """Posterior medians of all outputs; None before the first observation."""
        return self._now().predict(setting) if self._observations else None

    def believe(self, settings: Sequence[Setting]) -> Belief:
        """What the model thinks of many settings at once, after at least one observation."""
        return self._now().view(settings).belief

    def _in_effect(self, observation: Observation) -> Observation:
        """The trial as one of the setting that stands for all that differ in knobs that do not matter."""
        return replace(observation, setting=self._problem.space.in_effect(observation.setting))

    def _now(self) -> Situation:
        if self._situation is None:
            self._situation = Situation(
                self._problem,
                self._caution,
                self._outputs,
                self._encoder,
                self._observations,
                effective=self._rounding.of,
            )
        return self._situation

    def _pool(self, now: Situation) -> list[Setting]:
        """What is looked at: the selection, and what lies around the settings that matter."""
        known = [now.incumbent.setting if now.incumbent else self._fastest]
        return [*self._candidates.settings, *self._candidates.near(known)]

    def _promising(self, now: Situation, pool: View, reference: float, least: float) -> Setting | None:
        """The setting that promises most, if that is worth a trial."""
        reach = now.risk.reach

        def promise_within(reach: Slo | None) -> Callable[[Belief], Array]:
            return lambda belief: np.where(now.risk.allowed(belief, reach), self._promise(belief, reference), -np.inf)

        setting, promise = self._best(now, pool, promise_within(reach))
        if promise >= least and promise > -np.inf:
            return setting
        if reach is None:
            return None
        # What is out of reach may be worth it: then one step outwards, while there is one.
        setting, promise = self._best(now, pool, promise_within(None))
        if promise < least or promise == -np.inf:
            return None
        return self._outermost(now, pool, reach) or setting

    def _take(self, now: Situation, pool: View, reference: float) -> Setting | None:
        """A detour, when nothing safe promises anything: what teaches most, or a risk for a great promise."""
        caution = self._caution
        worth = caution.worth * abs(reference)
        if self._detours["lesson"] < caution.lessons:
            least = caution.lesson_worth * worth
            lesson = self._lesson(now, pool, reference, least) or self._approach(now, pool, reference, least)
            if lesson is not None:
                self._detour = ("lesson", lesson)
                return lesson
        knows_enough = len(now.seen.here) >= caution.venture_after and not self._problem.small_steps
        if knows_enough and self._detours["venture"] < caution.ventures:
            setting, promise = self._best(
                now,
                pool,
                lambda belief: now.risk.ventured(belief) * belief.stable * self._promise(belief, reference),
            )
            if promise >= caution.venture_worth * worth:
                self._detour = ("venture", setting)
                return setting
        return None

    def _lesson(self, now: Situation, pool: View, reference: float, least: float) -> Setting | None:
        """The safe setting that takes away most of the doubt about the best one that is not safe enough yet."""
        belief = pool.belief
        allowed = now.risk.allowed(belief)
        hope = np.where(now.risk.bearable(belief) & ~allowed, belief.hope(reference), 0.0)
        about = int(np.argmax(hope))
        if hope[about] < least:
            return None
        share = np.where(allowed & self._open(now, pool), now.doubt_share(pool.settings, pool.settings[about]), 0.0)
        best = int(np.argmax(share))
        return pool.settings[best] if share[best] >= self._caution.lesson_share else None

    def _approach(self, now: Situation, pool: View, reference: float, least: float) -> Setting | None:
        """The safe setting that goes furthest towards the best one of those that may lie beyond a cliff."""
        belief = pool.belief
        promise = np.where(now.risk.hidden(belief), self._promise(belief, reference), 0.0)
        target = int(np.argmax(promise))
        if promise[target] < least:
            return None
        left = now.way_left(pool.settings, pool.settings[target])
        left = np.where(now.risk.allowed(belief) & self._open(now, pool, windows=1), left, np.inf)
        best = int(np.argmin(left))
        return pool.settings[best] if left[best] <= 1.0 - self._caution.approach else None

    def _look(self, now: Situation, pool: View) -> Proposal | Finished:
        """While nothing is trusted and nothing is safe enough: what is most likely to meet the SLO, none too often."""
        belief = pool.belief
        trials = len(now.seen.here)
        hopeless = trials >= 3 and float(belief.safe.max()) < self._caution.hopeless
        if trials >= self._caution.looks or hopeless:
            return Finished("infeasible")
        # Where cores may be overloaded only what is plausible without the model's doubt counts, and comes last.
        open_, bearable = self._open(now, pool), now.risk.bearable(belief)
        score = np.where(open_, np.where(bearable, 1.0 + belief.safe, belief.plausible), -1.0)
        return Proposal(pool.settings[int(np.argmax(score))])

    def _open(self, now: Situation, pool: View, windows: int = _ENOUGH_WINDOWS) -> NDArray[np.bool_]:
        """What was not measured so often; by default, not often enough to know it."""
        return np.array([now.seen.windows(self._rounding.of(s)) < windows for s in pool.settings])

    def _promise(self, belief: Belief, reference: float) -> Array:
        return belief.promise(reference, constrained=self._problem.objective.constrained)

    def _best(self, now: Situation, pool: View, score: Callable[[Belief], Array]) -> tuple[Setting, float]:
        """The setting of the highest score, with its score: the best of what lies around the best of the pool."""
        best = pool.settings[int(np.argmax(score(pool.belief)))]
        nearby = now.view(self._candidates.around(best))
        scores = score(nearby.belief)
        index = int(np.argmax(scores))
        return nearby.settings[index], float(scores[index])

    def _outermost(self, now: Situation, pool: View, reach: Slo) -> Setting | None:
        """The setting within reach, not tried yet, of which most latency is expected; None when there is none."""
        within = now.risk.allowed(pool.belief, reach) & self._open(now, pool, windows=1)
        latency_us = np.where(within, pool.belief.latency_us[0], -np.inf)
        return pool.settings[int(np.argmax(latency_us))] if within.any() else None
