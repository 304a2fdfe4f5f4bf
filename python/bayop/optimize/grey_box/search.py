"""Ask and tell: safe trials outwards from the fastest setting, until no safe one promises an improvement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bayop.optimize.base import Finished, Observation, Prediction, Problem, Proposal
from bayop.optimize.grey_box.acquisition import probability_below
from bayop.optimize.grey_box.belief import Belief, NextWindow, believe
from bayop.optimize.grey_box.candidates import Candidates
from bayop.optimize.grey_box.inputs import Array, Encoder, Inputs
from bayop.optimize.grey_box.model import Data, Posterior
from bayop.optimize.grey_box.outputs import LATENCY, AnchoredMean, Outputs, noise_of
from bayop.optimize.rounding import Rounding
from bayop.space import Setting, fastest_setting

_RESIDUAL_SCALES: Final = (1.0, 2.0, 4.0)
_PLAUSIBLE: Final = 0.01
_SAME_LOAD: Final = 0.01


@dataclass(frozen=True, slots=True)
class Caution:
    """How much risk a search takes, and how long it goes on.

    Attributes:
        trial: A setting is tried only when its probability of meeting the SLO is at least this.
        after_miss: Every trial that missed the SLO multiplies the risk of the next ones, 1 - `trial`, by this.
        last_trials: The least such probability in the last two trials of the budget.
        overload: The least probability, in any trial, that the cores keep up: an overloaded server does not miss its
            SLO by a little, and takes time to recover.
        trust: A tried setting may be held when its probability of meeting the SLO is at least this.
        worth: The least expected improvement, relative to the incumbent's objective, that is worth a trial. It counts
            only as far as the setting could be trusted afterwards, so that a possible 0.4 % at even odds is worth one.
        hopeless: With no setting's probability above this after three trials, the search ends as infeasible.
        small_steps: After so many trials, a problem with small steps takes steps of any size.
        step: A small step must stay with this probability below half of the way from the highest latency that was
            measured under the limit, to the limit. Where the model knows little, that leaves what is near.
        unsafe_trials: As many trials without one to trust end the search as infeasible; four do when no setting looks
            safe enough for an ordinary trial.
    """

    trial: float = 0.6
    after_miss: float = 0.5
    last_trials: float = 0.85
    overload: float = 0.9
    trust: float = 0.9
    worth: float = 0.0015
    hopeless: float = 0.05
    small_steps: int = 3
    step: float = 0.95
    unsafe_trials: int = 6


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
        self._encoder = Encoder(problem.space)
        self._outputs = Outputs.of(problem, explained=use_prior and self._encoder.explained)
        self._candidates = Candidates(problem.space)
        self._inputs = self._encode(self._candidates.settings)
        self._rounding = Rounding()
        self._fastest = fastest_setting(problem.space)
        self._observations = list(problem.history)
        self._posterior: Posterior | None = None
        self._incumbent: tuple[Setting, float] | None = None

    def ask(self, trials_left: int) -> Proposal | Finished:
        """The setting that promises most among those that are safe enough."""
        if not self._observations:
            return Proposal(self._fastest)
        settings = self._candidates.settings
        belief = self._believe(self._inputs)
        incumbent = self._hold()
        if incumbent is None and self._constrained and self._hopeless(belief):
            return Finished("infeasible")
        if incumbent is None and not self._allowed(belief, trials_left, None).any():
            return Proposal(self._nearest_to_safe(settings, belief))
        reference = incumbent[1] if incumbent else float(self._believe(self._encode([self._fastest])).objective[0])
        least = -math.inf if incumbent is None else self._caution.worth * abs(reference)
        reach_us = self._reach_us()
        setting, promise = self._choice(belief, trials_left, reference, reach_us)
        if promise < least and reach_us is not None:
            # What is out of reach may be worth it: then one step outwards, while there is one.
            setting, promise = self._choice(belief, trials_left, reference, None)
            setting = self._outermost(belief, trials_left, reach_us) or setting
        return Finished("converged") if promise < least else Proposal(setting)

    def tell(self, observation: Observation) -> None:
        """Takes in one trial; the model is updated when it is next needed."""
        self._observations.append(observation)
        if observation.asked is not None:
            self._rounding.learn(observation.asked, observation.setting)
            if not self._rounding.is_exact:
                self._inputs = self._expect(self._candidates.settings)
        self._posterior = self._incumbent = None

    def incumbent(self) -> Setting | None:
        """Least expected objective among this load's tried settings that are trusted to meet the SLO."""
        incumbent = self._hold()
        return incumbent[0] if incumbent else None

    def predict(self, setting: Setting) -> Prediction | None:
        """Posterior medians of all outputs; None before the first observation."""
        if not self._observations:
            return None
        mean, sd = self._model().predict(self._encode([setting]), range(len(self._outputs.names)))
        safe = probability_below(mean[LATENCY], sd[LATENCY], math.log(self._problem.slo.limit_us))
        return Prediction(
            quantities=dict(zip(self._outputs.names, map(float, np.exp(mean[:, 0])), strict=True)),
            relative_sd=dict(zip(self._outputs.names, map(float, sd[:, 0]), strict=True)),
            slo_probability=float(safe[0]),
        )

    @property
    def _constrained(self) -> bool:
        return self._problem.objective.constrained

    def _choice(
        self, belief: Belief, trials_left: int, reference: float, reach_us: float | None
    ) -> tuple[Setting, float]:
        """The most promising setting, with its promise: the best candidate, or the best of what lies around it."""
        settings = self._candidates.settings
        promise = self._promise(belief, trials_left, reference, reach_us)
        nearby = self._candidates.around(settings[int(np.argmax(promise))])
        promise = self._promise(self._believe(self._expect(nearby)), trials_left, reference, reach_us)
        best = int(np.argmax(promise))
        return nearby[best], float(promise[best])

    def _promise(self, belief: Belief, trials_left: int, reference: float, reach_us: float | None) -> Array:
        promise = belief.promise(reference, constrained=self._constrained)
        return np.where(self._allowed(belief, trials_left, reach_us), promise, 0.0)

    def _allowed(self, belief: Belief, trials_left: int, reach_us: float | None) -> NDArray[np.bool_]:
        """Which settings are safe enough for a trial, and within reach."""
        stable = belief.stable >= self._caution.overload
        if not self._constrained:
            return np.asarray(stable)
        misses = sum(not o.meets(self._problem.slo) for o in self._here())
        least = 1.0 - (1.0 - self._caution.trial) * self._caution.after_miss**misses
        if trials_left <= 2:
            least = max(least, self._caution.last_trials)
        allowed = stable & (belief.safe >= least)
        return np.asarray(allowed if reach_us is None else allowed & (belief.below(reach_us) >= self._caution.step))

    def _reach_us(self) -> float | None:
        """How far the next trial may go, in latency; None for as far as it is safe."""
        here, aim = self._here(), self._problem.aim
        latencies = [o.measurement[aim.quantity] for o in here if o.meets(aim)]
        if not (self._problem.small_steps and latencies) or len(here) > self._caution.small_steps:
            return None
        return (max(latencies) + aim.limit_us) / 2.0

    def _outermost(self, belief: Belief, trials_left: int, reach_us: float) -> Setting | None:
        """The setting within reach, not tried yet, of which most latency is expected; None when there is none."""
        tried = {tuple(o.setting.items()) for o in self._here()}
        allowed = self._allowed(belief, trials_left, reach_us)
        within = [i for i, s in enumerate(self._candidates.settings) if allowed[i] and tuple(s.items()) not in tried]
        return self._candidates.settings[max(within, key=lambda i: belief.log_latency[i])] if within else None

    def _nearest_to_safe(self, settings: Sequence[Setting], belief: Belief) -> Setting:
        """While no setting is safe enough: the most plausible one, or where none is, the fastest; none twice."""
        order = belief.plausible if belief.plausible.max() >= _PLAUSIBLE else -belief.log_latency
        tried = {tuple(o.setting.items()) for o in self._here()}
        rounded = [tuple(self._rounding.of(s).items()) for s in settings]
        scores = [-math.inf if setting in tried else order[i] for i, setting in enumerate(rounded)]
        return settings[int(np.argmax(scores))]

    def _hopeless(self, belief: Belief) -> bool:
        """Whether to give up on the SLO: nothing may meet it, or trial after trial did not."""
        best, trials, most = float(belief.safe.max()), len(self._here()), self._caution.unsafe_trials
        if trials < 3:
            return False
        return trials >= most or best < (self._caution.hopeless if trials == 3 else self._caution.trial)

    def _hold(self) -> tuple[Setting, float] | None:
        """The incumbent and its expected objective."""
        censored = {tuple(o.setting.items()) for o in self._here() if o.measurement.censored}
        whole = {key: o.setting for o in self._here() if (key := tuple(o.setting.items())) not in censored}
        settings = list(whole.values())
        if self._incumbent is None and settings:
            belief = self._believe(self._encode(settings))
            choices = [
                i for i in range(len(settings)) if not self._constrained or belief.safe[i] >= self._caution.trust
            ]
            if choices:
                best = min(choices, key=lambda i: float(belief.objective[i]))
                self._incumbent = settings[best], float(belief.objective[best])
        return self._incumbent

    def _here(self) -> list[Observation]:
        """The observations at this problem's load."""
        qps = self._problem.qps
        return [o for o in self._observations if math.isclose(o.qps, qps, rel_tol=_SAME_LOAD)]

    def _encode(self, settings: Sequence[Setting]) -> Inputs:
        """The settings at this problem's load."""
        return self._encoder.encode(settings, np.zeros(len(settings)))

    def _expect(self, settings: Sequence[Setting]) -> Inputs:
        """What is expected to be in effect when each of the settings is asked for."""
        return self._encode([self._rounding.of(s) for s in settings])

    def _believe(self, at: Inputs) -> Belief:
        whole = [o.measurement for o in self._observations if not o.measurement.censored]
        last = whole[-1] if whole else self._observations[-1].measurement
        window = NextWindow(noise_of(self._problem.slo.quantity, last), last.get("duration_s") or 1.0)
        return believe(self._model(), self._outputs, self._problem, at, window, trust=self._caution.trust)

    def _model(self) -> Posterior:
        if self._posterior is None:
            loads = np.log([o.qps / self._problem.qps for o in self._observations])
            inputs = self._encoder.encode([o.setting for o in self._observations], loads)
            self._posterior = self._censored_fit(inputs)
        return self._posterior

    def _censored_fit(self, inputs: Inputs) -> Posterior:
        """The model that contradicts no censored observation.

        "At least this latency" tells nothing where the model expects more anyway. Where it expects less, the bound is
        taken for the latency: the most likely value of those that are possible (an active set, as in bounded least
        squares). What was added stays, so that this ends.
        """
        slo, observations = self._problem.slo, self._observations
        least = {
            i: math.log(max(o.measurement.get(slo.quantity) or 0.0, slo.limit_us))
            for i, o in enumerate(observations)
            if o.measurement.censored
        }
        active = least if len(least) == len(observations) else {}
        while True:
            posterior = self._fit(self._outputs.data(observations, inputs, active))
            open_ = [i for i in least if i not in active]
            if not open_:
                return posterior
            expected, _ = posterior.predict(inputs.rows(np.array(open_)), [LATENCY])
            violations = {i: least[i] for i, mean in zip(open_, expected[0], strict=True) if mean < least[i]}
            if not violations:
                return posterior
            active = active | violations

    def _fit(self, data: Data) -> Posterior:
        mean = AnchoredMean(self._outputs, data)
        posteriors: list[Posterior] = []
        for scale in _RESIDUAL_SCALES:
            start = posteriors[-1].theta if posteriors else None
            posteriors.append(Posterior(mean, self._outputs.kernels(scale), data, start=start))
        return max(posteriors, key=lambda p: p.log_evidence)
