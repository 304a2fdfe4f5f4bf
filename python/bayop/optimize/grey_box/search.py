"""Ask and tell: safe trials outwards from the fastest setting, until no safe one promises an improvement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bayop.expression import Values
from bayop.optimize.base import Finished, Observation, Prediction, Problem, Proposal
from bayop.optimize.grey_box.acquisition import expected_improvement, probability_below, probability_of_trust
from bayop.optimize.grey_box.inputs import Array, Encoder
from bayop.optimize.grey_box.model import Posterior
from bayop.optimize.grey_box.outputs import LATENCY, UTILIZATION, AnchoredMean, Outputs, noise_of
from bayop.space import AUTO, Knob, Setting, Space, Value

_RESIDUAL_SCALES: Final = (1.0, 2.0, 4.0)
_LAST_TRIALS: Final = 2
_LEAST_UNSAFE_TRIALS: Final = 3
_FEW_TRIALS: Final = 4
_MOST_UNSAFE_TRIALS: Final = 6
_STABLE_UTILIZATION: Final = 0.85
_SAME_LOAD: Final = 0.01
_DERIVATIVE_STEP: Final = 1e-4


@dataclass(frozen=True, slots=True)
class Caution:
    """How much risk a search takes.

    Attributes:
        trial: A setting is tried only when its probability of meeting the SLO is at least this.
        last_trials: The same for the last two trials of the budget; never below `trial`.
        overload: The same for the probability that the cores keep up: an overloaded server does not miss its SLO by a
            little, and takes time to recover.
        trust: A tried setting may be held when its probability of meeting the SLO is at least this.
        worth: The least expected improvement, relative to the incumbent's objective, that is worth a trial.
        hopeless: With no setting's probability above this after a few trials, the search ends as infeasible.
    """

    trial: float = 0.65
    last_trials: float = 0.85
    overload: float = 0.9
    trust: float = 0.9
    worth: float = 0.0015
    hopeless: float = 0.05


@dataclass(frozen=True, slots=True)
class Belief:
    """What the model thinks of every setting of the space; arrays of shape (n,).

    Attributes:
        objective: Expected objective.
        objective_sd: Its standard deviation.
        safe: Probability of meeting the SLO.
        stable: Probability that the cores keep up with the load.
        trusted: Probability that one more trial would leave it trusted to meet the SLO.
    """

    objective: Array
    objective_sd: Array
    safe: Array
    stable: Array
    trusted: Array


class GreyBox:
    """Design section 4: utilization, latency and power share the parameters of one analytic prior.

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
        self._settings = problem.space.settings()
        self._index = {tuple(s.values()): i for i, s in enumerate(self._settings)}
        self._encoder = Encoder(problem.space)
        self._outputs = Outputs.of(problem, explained=use_prior and self._encoder.explained)
        self._candidates = self._encoder.encode(self._settings, np.zeros(len(self._settings)))
        self._fastest = self._index[tuple(fastest_setting(problem.space).values())]
        self._observations = list(problem.history)
        self._posterior: Posterior | None = None
        self._belief: Belief | None = None

    def ask(self, trials_left: int) -> Proposal | Finished:
        """The setting with the greatest expected improvement among those that are safe enough."""
        if not self._observations:
            return Proposal(self._settings[self._fastest])
        belief = self._believe()
        held = self._incumbent_index()
        allowed = self._allowed(belief, trials_left)
        if held is None and self._problem.objective.constrained:
            if self._hopeless(belief):
                return Finished("infeasible")
            if not allowed.any():
                return Proposal(self._settings[int(np.argmax(belief.safe))])
        reference = float(belief.objective[self._fastest if held is None else held])
        gain = np.where(allowed, expected_improvement(belief.objective, belief.objective_sd, reference), 0.0)
        promise = gain * belief.trusted if self._problem.objective.constrained else gain
        choice = int(np.argmax(promise))
        if held is not None and promise[choice] < self._caution.worth * abs(reference):
            return Finished("converged")
        return Proposal(self._settings[choice])

    def tell(self, observation: Observation) -> None:
        """Takes in one trial; the model is updated when it is next needed."""
        self._observations.append(observation)
        self._posterior = self._belief = None

    def incumbent(self) -> Setting | None:
        """Least expected objective among this load's tried settings that are trusted to meet the SLO."""
        held = self._incumbent_index()
        return None if held is None else self._settings[held]

    def predict(self, setting: Setting) -> Prediction | None:
        """Posterior medians of all outputs; None before the first observation."""
        if not self._observations:
            return None
        at = self._encoder.encode([setting], np.zeros(1))
        mean, sd = self._model().predict(at, range(len(self._outputs.names)))
        safe = probability_below(mean[LATENCY], sd[LATENCY], math.log(self._problem.slo.limit_us))
        return Prediction(
            quantities=dict(zip(self._outputs.names, map(float, np.exp(mean[:, 0])), strict=True)),
            relative_sd=dict(zip(self._outputs.names, map(float, sd[:, 0]), strict=True)),
            slo_probability=float(safe[0]),
        )

    def _allowed(self, belief: Belief, trials_left: int) -> NDArray[np.bool_]:
        """Which settings are safe enough for a trial."""
        if not self._problem.objective.constrained:
            return np.ones(len(self._settings), dtype=np.bool_)
        risk = self._caution.last_trials if trials_left <= _LAST_TRIALS else self._caution.trial
        return np.asarray((belief.safe >= risk) & (belief.stable >= self._caution.overload))

    def _hopeless(self, belief: Belief) -> bool:
        """Whether to give up on the SLO: nothing may meet it, or trial after trial did not."""
        best, trials = float(belief.safe.max()), len(self._here())
        return (
            (trials >= _LEAST_UNSAFE_TRIALS and best < self._caution.hopeless)
            or (trials >= _FEW_TRIALS and best < self._caution.trial)
            or trials >= _MOST_UNSAFE_TRIALS
        )

    def _incumbent_index(self) -> int | None:
        tried = self._tried_here()
        if not tried:
            return None
        belief = self._believe()
        if self._problem.objective.constrained:
            tried = [i for i in tried if belief.safe[i] >= self._caution.trust]
        return min(tried, key=lambda i: belief.objective[i], default=None)

    def _tried_here(self) -> list[int]:
        """Indices of the settings that were tried at this problem's load."""
        return sorted({i for o in self._here() if (i := self._index_of(o.setting)) is not None})

    def _here(self) -> list[Observation]:
        """The observations at this problem's load."""
        qps = self._problem.qps
        return [o for o in self._observations if math.isclose(o.qps, qps, rel_tol=_SAME_LOAD)]

    def _index_of(self, setting: Setting) -> int | None:
        return self._index.get(tuple(setting.values()))

    def _model(self) -> Posterior:
        if self._posterior is None:
            loads = np.log([o.qps / self._problem.qps for o in self._observations])
            inputs = self._encoder.encode([o.setting for o in self._observations], loads)
            data = self._outputs.data(self._observations, inputs)
            mean = AnchoredMean(self._outputs, data)
            posteriors = [Posterior(mean, self._outputs.kernels(scale), data) for scale in _RESIDUAL_SCALES]
            self._posterior = max(posteriors, key=lambda p: p.log_evidence)
        return self._posterior

    def _believe(self) -> Belief:
        if self._belief is None:
            outputs = self._outputs.needed(self._problem)
            mean, sd = self._model().predict(self._candidates, outputs)
            limit = math.log(self._problem.slo.limit_us)
            noise = noise_of(self._problem.slo.quantity, self._observations[-1].measurement)
            objective, objective_sd = self._objective([self._outputs.names[o] for o in outputs], mean, sd)
            stable = probability_below(mean[UTILIZATION], sd[UTILIZATION], math.log(_STABLE_UTILIZATION))
            if self._outputs.prior is None:
                stable = np.ones_like(stable)
            self._belief = Belief(
                objective=objective,
                objective_sd=objective_sd,
                safe=probability_below(mean[LATENCY], sd[LATENCY], limit),
                stable=stable,
                trusted=probability_of_trust(mean[LATENCY], sd[LATENCY], limit, noise, self._caution.trust),
            )
        return self._belief

    def _objective(self, names: Sequence[str], mean: Array, sd: Array) -> tuple[Array, Array]:
        """Mean and sd of the objective, by propagating the outputs' uncertainty to first order."""
        value = self._evaluate(names, mean)
        variance = np.zeros_like(value)
        for i in range(len(names)):
            shifted = mean.copy()
            shifted[i] += _DERIVATIVE_STEP
            slope = (self._evaluate(names, shifted) - value) / _DERIVATIVE_STEP
            variance += (slope * sd[i]) ** 2
        return value, np.sqrt(np.maximum(variance, 1e-24))

    def _evaluate(self, names: Sequence[str], mean: Array) -> Array:
        quantities: dict[str, Values] = dict(zip(names, np.exp(mean), strict=True))
        quantities["qps"] = self._problem.qps
        quantities["duration_s"] = duration_s = self._observations[-1].measurement.get("duration_s") or 1.0
        quantities["energy_j"] = quantities["power_w"] * duration_s
        return np.asarray(self._problem.objective.value(quantities), dtype=np.float64)


def fastest_setting(space: Space) -> Setting:
    """The setting to start from: each knob at the end that makes the service fastest; the others left alone.

    A knob of which nobody knows what is safe stays on `auto` where it can, else in the middle of its values.
    """

    def fastest(knob: Knob) -> Value:
        numbers = knob.numbers()
        if knob.safest and numbers:
            return numbers[0] if knob.safest == "low" else numbers[-1]
        values = knob.values()
        return AUTO if AUTO in values else values[len(values) // 2]

    return space.check({knob.id: fastest(knob) for knob in space.knobs})
