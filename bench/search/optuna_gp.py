"""A peer that users reach for: Optuna's Gaussian process sampler, told of the SLO as a constraint."""

from __future__ import annotations

import math
from types import MappingProxyType

import optuna

from bayop.optimize.base import Observation, Problem
from bayop.optimize.measured import MeasuredSearch
from bayop.space import Setting

_LOG_EXCESS = "log_excess"


class OptunaSearch(MeasuredSearch):
    """Optuna asks for a trial and is told what it showed; it may ask for a setting again, which counts as a trial.

    Its own defaults: ten random trials, then log expected improvement times the probability that the constraint holds.
    The latency is told as the logarithm of its share of the SLO's limit, as Ax is told it.

    Args:
        problem: What to search for; its history is not used, because Optuna has no notion of another load.
        seed: The same seed gives the same search.
    """

    def __init__(self, problem: Problem, *, seed: int) -> None:
        super().__init__(problem)
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._values = {knob.id: knob.values() for knob in problem.space.knobs}
        self._study = optuna.create_study(sampler=optuna.samplers.GPSampler(seed=seed))
        self._trial: optuna.Trial | None = None

    def choose(self, trials_left: int) -> Setting:  # noqa: ARG002 -- Optuna plans one trial ahead
        """What Optuna proposes; it knows the values of a knob by their rank."""
        ranks = {name: optuna.distributions.IntDistribution(0, len(v) - 1) for name, v in self._values.items()}
        self._trial = self._study.ask(ranks)
        return MappingProxyType({name: self._values[name][rank] for name, rank in self._trial.params.items()})

    def tell(self, observation: Observation) -> None:
        """Hands over what was measured."""
        super().tell(observation)
        if self._trial is None:
            raise RuntimeError("a trial that was not asked for")
        problem, measurement = self.problem, observation.measurement
        latency_us = measurement[problem.slo.quantity]
        self._trial.set_constraint(_LOG_EXCESS, math.log(latency_us / problem.aim.limit_us))
        self._study.tell(self._trial, problem.objective.of(measurement))
        self._trial = None
