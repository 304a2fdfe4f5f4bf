"""What servers of a class have in common, from what was measured on some of them.

A server under one load says something of the parameters and leaves others open. What it says is the likelihood of the
search's own model, residuals included: a hundred settings that share a residual don't count as a hundred. Over the
servers each parameter is normal, with a mean and a spread that expectation maximisation finds (empirical Bayes; Gelman
et al., Bayesian Data Analysis, chapter 5). The prior for any server counts as some more servers, so that two that are
alike don't make anybody sure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from bayop.optimize.base import Observation, Problem
from bayop.optimize.grey_box.fit import fit
from bayop.optimize.grey_box.inputs import Array, Encoder, typical_delay_us
from bayop.optimize.grey_box.outputs import RESIDUAL_SCALES, Outputs
from bayop.optimize.grey_box.prior import SHAPES, AnalyticPrior
from bayop.optimize.server_class import ServerClass, Spread

_PSEUDO_SERVERS: Final = 2.0
_MOST_ROUNDS: Final = 10_000
_SETTLED: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one server says of the p parameters' deviations t from their prior means: exp(s t - t P t / 2).

    Attributes:
        precision: P, shape (p, p).
        pull: s, shape (p,).
        sd: Standard deviations of the prior, shape (p,).
        residual: Probability of each multiple of what the analytic prior is believed to be off.
    """

    precision: Array
    pull: Array
    sd: Array
    residual: Mapping[float, float]


def lesson(problem: Problem, observations: Sequence[Observation]) -> Lesson:
    """What the observations of one server under one load say.

    Args:
        problem: What its search would be about, without a class.
        observations: At least one, the fastest setting first.
    """
    outputs = Outputs.of(problem, explained=True)
    encoder = Encoder(problem.space, typical_delay_us(problem.space, problem.slo))
    inputs = encoder.encode([o.setting for o in observations], np.zeros(len(observations)))
    mixture = fit(outputs, observations, inputs, problem.slo).mixture
    precision, pull = mixture.likeliest.likelihood
    return Lesson(precision, pull, np.sqrt(mixture.likeliest.linearisation.s), mixture.residual)


def learn(lessons: Sequence[Lesson]) -> ServerClass:
    """The class of at least one server."""
    names = AnalyticPrior(quantile=0.5, typical_delay_us=1.0).names
    own = np.flatnonzero([name in SHAPES for name in names])
    mean, sd = _population(lessons, own)
    shapes = {names[i]: Spread(SHAPES[names[i]].mean + float(mean[i]), float(sd[i])) for i in own}
    count = _PSEUDO_SERVERS + len(lessons)
    residual = {
        scale: (_PSEUDO_SERVERS * prior + sum(x.residual.get(scale, 0.0) for x in lessons)) / count
        for scale, prior in RESIDUAL_SCALES.items()
    }
    return ServerClass(shapes, residual)


def _population(lessons: Sequence[Lesson], own: np.ndarray[tuple[int], np.dtype[np.intp]]) -> tuple[Array, Array]:
    """Mean and sd of the deviations of a server that nobody has measured, shape (p,), for the parameters `own`.

    The others are scales of each machine, whose priors stay as they are.
    """
    precision, pull, prior = (np.array([getattr(x, part) for x in lessons]) for part in ("precision", "pull", "sd"))
    count = _PSEUDO_SERVERS + len(lessons)
    mean, variance = np.zeros_like(prior), prior**2
    for _ in range(_MOST_ROUNDS):
        covariance = np.linalg.inv(precision + np.eye(prior.shape[1]) / variance[:, None, :])
        found = np.einsum("sij,sj->si", covariance, pull + mean / variance)
        center = found.sum(axis=0) / count
        scatter = (found - center) ** 2 + np.diagonal(covariance, axis1=1, axis2=2)
        pooled = (_PSEUDO_SERVERS * (prior[0] ** 2 + center**2) + scatter.sum(axis=0)) / count
        is_settled = np.allclose(variance[0, own], pooled[own], rtol=_SETTLED, atol=0.0)
        mean[:, own], variance[:, own] = center[own], pooled[own]
        if is_settled:
            break
    # The mean is not known for sure either.
    return mean[0], np.sqrt(variance[0] * (1.0 + 1.0 / count))
