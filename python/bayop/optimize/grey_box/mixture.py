"""Several hypotheses about how far the model and the reported noise are off, each with its probability.

Choosing the most likely one alone makes the search surer than the data are: after three trials the evidence hardly
tells a residual of 2 % from one of 8 %. So predictions are averaged (Bayesian model averaging: Hoeting et al. 1999).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from scipy.special import ndtr, ndtri

from bayop.optimize.grey_box.inputs import Array, Inputs
from bayop.optimize.grey_box.model import Expansion, Posterior


@dataclass(frozen=True, slots=True)
class Moments:
    """What is expected of some outputs at n points, by each of h hypotheses.

    Attributes:
        weight: Probabilities of the hypotheses, shape (h,).
        mean: Of the logarithms, shape (h, o, n).
        variance: Shape (h, o, n).
        covariance: With the same output at one other point, shape (h, o, n); zeros when none was asked for.
        reference: The mean at that other point, shape (h, o, 1).
        veto: Their probabilities if only those with the prior for any server are left, shape (h,); None where all of
            them have one prior. A class makes nothing safer than that prior has it, until that is voted out.
    """

    weight: Array
    mean: Array
    variance: Array
    covariance: Array
    reference: Array
    veto: Array | None = None

    def below(self, limits: Mapping[int, float | Array], *, at_most_sd: float = math.inf) -> Array:
        """Probability that each output lies below its limit, if no hypothesis were less sure than `at_most_sd`.

        Within a hypothesis the outputs count as independent. Latencies of one server rise together, so the
        probability that all of them are below their limits is no less than that.

        Args:
            limits: The logarithm of the limit, by the output's index.
            at_most_sd: Of each output.
        """

        def z(output: int, log_limit: float | Array) -> Array:
            sd = np.minimum(np.sqrt(self.variance[:, output]), at_most_sd)
            return np.asarray((log_limit - self.mean[:, output]) / sd)

        return self._probability(z(output, log_limit) for output, log_limit in limits.items())

    def trusted(self, limits: Mapping[int, float], noise_sd: Sequence[float], confidence: float) -> Array:
        """Probability that, after one more noisy trial, the model will say "below" of each limit with `confidence`.

        A trial with noise variance n shrinks the variance s to s n / (s + n) and moves the mean by a Gaussian of
        variance s - s n / (s + n). A setting that meets the SLO by a hair is not worth a trial: it could never be
        trusted.

        Args:
            limits: The logarithm of the limit, by the output's index.
            noise_sd: Of every output.
            confidence: For each limit.
        """

        def z(output: int, log_limit: float) -> Array:
            variance = self.variance[:, output]
            after = variance * noise_sd[output] ** 2 / (variance + noise_sd[output] ** 2)
            move = np.sqrt(np.maximum(variance - after, 1e-18))
            least = log_limit - float(ndtri(confidence)) * np.sqrt(after)
            return np.asarray((least - self.mean[:, output]) / move)

        return self._probability(z(output, log_limit) for output, log_limit in limits.items())

    def _probability(self, zs: Iterable[Array]) -> Array:
        """Of independent standard Gaussians below each `z`, shape (h, n), whatever the hypothesis; never above 1."""
        below = math.prod(ndtr(z) for z in zs)
        probability = np.minimum(self.weight @ below, 1.0)
        return probability if self.veto is None else np.minimum(probability, self.veto @ below)

    @property
    def mean_all(self) -> Array:
        """Expected logarithms, whatever the hypothesis, shape (o, n)."""
        return np.asarray(np.tensordot(self.weight, self.mean, axes=1))

    @property
    def variance_all(self) -> Array:
        """Their variance: within the hypotheses and between them, shape (o, n)."""
        return np.asarray(np.tensordot(self.weight, self.variance + (self.mean - self.mean_all) ** 2, axes=1))

    @property
    def covariance_all(self) -> Array:
        """Their covariance with the other point, within the hypotheses and between them, shape (o, n)."""
        reference = self.reference - np.tensordot(self.weight, self.reference, axes=1)
        together = self.covariance + (self.mean - self.mean_all) * reference
        return np.asarray(np.tensordot(self.weight, together, axes=1))


class Mixture:
    """The posteriors of the hypotheses that the data leave likely.

    Args:
        members: Each posterior with its weight, those with the prior for any server first; the weights need not add
            up to 1.
        least: Members below this share are left out.
    """

    def __init__(self, members: Sequence[tuple[Posterior, float]], *, least: float) -> None:
        weight = np.array([w for _, w in members])
        kept = np.flatnonzero(weight >= least * weight.sum()).tolist()
        self._posteriors = [members[i][0] for i in kept]
        self._weight = weight[kept] / weight[kept].sum()
        is_first = np.array([p.linearisation is members[0][0].linearisation for p in self._posteriors])
        own = np.where(is_first, self._weight, 0.0)
        self._veto = None if is_first.all() or not is_first.any() else own / own.sum()

    def has_seen(self, output: int) -> bool:
        """Whether any observation is of this output."""
        return len(self._posteriors[0].linearisation.rows(output)) > 0

    @property
    def residual(self) -> Mapping[float, float]:
        """Probability of each multiple of the residual that is left."""
        found: Counter[float] = Counter()
        for posterior, weight in zip(self._posteriors, self._weight.tolist(), strict=True):
            found[posterior.scales.residual[0]] += weight
        return found

    @property
    def likeliest(self) -> Posterior:
        """The posterior of the most probable hypothesis."""
        return self._posteriors[int(np.argmax(self._weight))]

    def noise_scale(self, output: int) -> float:
        """What the reported noise of an output is to be multiplied by, as far as is known."""
        return float(self._weight @ [p.scales.noise[output] for p in self._posteriors])

    def predict(self, at: Inputs, outputs: Sequence[int], against: Inputs | None = None) -> Moments:
        """What is expected of some outputs at the points `at`, and how it goes with them at the one point `against`."""
        means, variances, covariances, references = [], [], [], []
        for shared, posteriors in groupby(self._posteriors, key=lambda p: p.linearisation):
            other = None if against is None else Expansion(shared, against, outputs)
            expansion = Expansion(shared, at, outputs, other)
            for posterior in posteriors:
                mean, variance, covariance = posterior.predict(expansion)
                means.append(mean)
                variances.append(variance)
                covariances.append(np.zeros_like(mean) if covariance is None else covariance)
                references.append(np.zeros((len(mean), 1)) if other is None else posterior.predict(other)[0])
        return Moments(
            self._weight, np.array(means), np.array(variances), np.array(covariances), np.array(references), self._veto
        )
