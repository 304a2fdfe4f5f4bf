"""Where a search stands after what it was told: the model, what may be tried, and what is to be improved on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bayop.optimize.base import Observation, Prediction, Problem, last_window
from bayop.optimize.grey_box.belief import Belief, NextWindow, believe
from bayop.optimize.grey_box.caution import Caution
from bayop.optimize.grey_box.cliff import Cliff
from bayop.optimize.grey_box.fit import fit
from bayop.optimize.grey_box.inputs import Array, Encoder, Inputs, distances
from bayop.optimize.grey_box.outputs import LATENCY, UTILIZATION, Outputs, noise_of
from bayop.optimize.grey_box.risk import Risk
from bayop.optimize.grey_box.seen import Seen
from bayop.space import Setting, setting_key


@dataclass(frozen=True, slots=True)
class Incumbent:
    """The setting to hold if the search ended now.

    Attributes:
        objective: Expected objective.
    """

    setting: Setting
    objective: float


@dataclass(frozen=True, slots=True)
class View:
    """Some settings, and what is believed about them if a driver rounds them as expected."""

    settings: Sequence[Setting]
    belief: Belief


class Situation:
    """What follows from the observations.

    Args:
        problem: What is searched for.
        caution: How much risk is taken.
        outputs: What is modelled.
        encoder: The inputs of settings.
        observations: At least one.
        effective: What is expected to be in effect when a setting is asked for.
    """

    def __init__(
        self,
        problem: Problem,
        caution: Caution,
        outputs: Outputs,
        encoder: Encoder,
        observations: Sequence[Observation],
        *,
        effective: Callable[[Setting], Setting],
    ) -> None:
        self._problem, self._caution, self._outputs, self._encoder = problem, caution, outputs, encoder
        self._effective = effective
        loads = np.log([o.qps / problem.qps for o in observations])
        fitted = fit(outputs, observations, encoder.encode([o.setting for o in observations], loads), problem.slo)
        self._mixture = fitted.mixture
        self.seen = Seen(problem, observations, fitted.falls)
        self.risk = Risk(problem, caution, self.seen)
        self._fine, fallen = self._encode(self.seen.fine), self._encode(self.seen.fallen)
        self._cliff = Cliff(self._fine, fallen) if len(self._fine) and len(fallen) else None
        self._window = self._next_window(observations)

    @cached_property
    def incumbent(self) -> Incumbent | None:
        """Least expected objective among the holdable settings that are trusted to meet the SLO."""
        settings = self.seen.holdable
        if not settings:
            return None
        belief = self._believe(self._encode(settings), None)
        trusted = belief.safe >= self._caution.trust if self._problem.objective.constrained else np.ones(len(settings))
        if not trusted.any():
            return None
        best = int(np.argmin(np.where(trusted, belief.objective, np.inf)))
        return Incumbent(settings[best], float(belief.objective[best]))

    def reference(self, fastest: Setting) -> float:
        """The objective to improve on: the incumbent's, or the default's where that is less; else the fastest's."""
        default = self._problem.default_objective(self._window.duration_s)
        known = [default, self.incumbent.objective if self.incumbent else None]
        objectives = [value for value in known if value is not None]
        return min(objectives) if objectives else float(self.view([fastest]).belief.objective[0])

    def view(self, settings: Sequence[Setting]) -> View:
        """What to think of some settings."""
        return View(settings, self._believe(self._encode([self._effective(s) for s in settings]), self.incumbent))

    def doubt_share(self, settings: Sequence[Setting], about: Setting) -> Array:
        """Which share of the doubt about the latency of one setting a window of each of `settings` would take away.

        Of several latencies that one counts which most likely misses its limit.
        """
        at, target = (self._encode([self._effective(s) for s in group]) for group in (settings, [about]))
        latency = self._least_sure(target)
        moments = self._mixture.predict(at, [latency], target)
        own = self._mixture.predict(target, [latency]).variance_all[0, 0]
        noise = self._window.noise_sd[latency] ** 2
        return np.asarray(moments.covariance_all[0] ** 2 / (moments.variance_all[0] + noise) / own)

    def way_left(self, settings: Sequence[Setting], to: Setting) -> Array:
        """How far each of `settings` is from one setting, relative to what met the SLO and is nearest to it."""
        target = self._encode([to])
        whole = float(distances(self._fine, target).min(initial=np.inf))
        return distances(self._encode(settings), target)[:, 0] / max(whole, 1e-9)

    def predict(self, setting: Setting) -> Prediction:
        """Posterior medians of all outputs; a setting that fell off a cliff misses the SLO whatever they are."""
        at = self._encode([setting])
        moments = self._mixture.predict(at, range(len(self._outputs.names)))
        fell = setting_key(setting) in map(setting_key, self.seen.fallen)
        mean, sd = moments.mean_all[:, 0], np.sqrt(moments.variance_all[:, 0])
        return Prediction(
            quantities=dict(zip(self._outputs.names, map(float, np.exp(mean)), strict=True)),
            relative_sd=dict(zip(self._outputs.names, map(float, sd), strict=True)),
            slo_probability=0.0 if fell else float(moments.below(self._outputs.log_limits(self._problem.slo))[0]),
            objective=float(self._believe(at, None).objective[0]),
        )

    def _least_sure(self, at: Inputs) -> int:
        """The index of the latency that is least likely below its limit, at one point."""
        limits = self._outputs.log_limits(self._problem.aim)
        if len(limits) == 1:
            return LATENCY
        moments = self._mixture.predict(at, range(len(self._outputs.names)))
        return min(limits, key=lambda o: float(moments.below({o: limits[o]})[0]))

    def _believe(self, at: Inputs, incumbent: Incumbent | None) -> Belief:
        return believe(
            self._mixture,
            self._outputs,
            self._problem,
            at,
            self._window,
            caution=self._caution,
            clear=np.ones(len(at)) if self._cliff is None else self._cliff.clear(at),
            stable_utilization=self.risk.stable_utilization,
            highest_utilization=self._highest_utilization,
            incumbent=None if incumbent is None else self._encode([incumbent.setting]),
        )

    @cached_property
    def _highest_utilization(self) -> float | None:
        """The highest that is expected of what met the SLO; None before anything did."""
        return (
            float(np.exp(self._mixture.predict(self._fine, [UTILIZATION]).mean_all).max()) if len(self._fine) else None
        )

    def _encode(self, settings: Sequence[Setting]) -> Inputs:
        """The settings at this problem's load."""
        return self._encoder.encode(settings, np.zeros(len(settings)))

    def _next_window(self, observations: Sequence[Observation]) -> NextWindow:
        """As noisy as the last whole window reported, corrected by what the noise turned out to be."""
        last = last_window([o.measurement for o in observations])
        noise = [noise_of(name, last) * self._mixture.noise_scale(o) for o, name in enumerate(self._outputs.names)]
        return NextWindow(noise, last.get("duration_s") or 1.0)
