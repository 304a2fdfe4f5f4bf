from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from bayop.optimize.grey_box.inputs import Array, Inputs
from bayop.optimize.grey_box.kernel import Correlations, ResidualKernel
from bayop.optimize.grey_box.model import Data, Expansion, Linearisation, Posterior, Scales

SLOPE_SD = 2.0
AS_BELIEVED = Scales(residual=(1.0, 1.0), noise=(1.0, 1.0))


class Line:
    """Two outputs with one shared slope: y0 = s x, y1 = -s x; with `bend`, y0 = exp(s) x."""

    def __init__(self, *, bend: bool = False) -> None:
        self._bend = bend

    @property
    def mean(self) -> Array:
        return np.array([0.5])

    @property
    def sd(self) -> Array:
        return np.array([SLOPE_SD])

    def jacobian(self, theta: Array, at: Inputs) -> tuple[Array, Array]:
        x = at.delay_us
        slope = np.exp(theta[0]) if self._bend else theta[0]
        derivative = slope if self._bend else 1.0
        return np.stack([slope * x, -theta[0] * x]), np.stack([derivative * x, -x])[..., None]


def at(x: Array) -> Inputs:
    return Inputs(x, np.ones_like(x), np.ones_like(x), np.zeros_like(x), np.column_stack([x, x]), np.empty((len(x), 0)))


def data(x: Array, y: Array, *, output: int, sd: float) -> Data:
    n = len(x)
    return Data(at(x), np.arange(n), np.full(n, output), y, np.full(n, sd), np.zeros(n, dtype=np.bool_))


class Model:
    """One hypothesis, linearised by itself, without the steps in between."""

    def __init__(
        self, kernels: list[ResidualKernel], observed: Data, scales: Scales = AS_BELIEVED, *, bend: bool = False
    ) -> None:
        self.linearisation = Linearisation(Line(bend=bend), kernels, observed)
        self.linearisation.relinearise(scales)
        self.posterior = Posterior(self.linearisation, scales)

    def predict(self, x: Array, outputs: list[int]) -> tuple[Array, Array]:
        mean, variance, _ = self.posterior.predict(Expansion(self.linearisation, at(x), outputs))
        return mean, np.sqrt(variance)


KERNELS = [ResidualKernel(0.3, 0.0), ResidualKernel(0.2, 0.0)]
X = np.array([0.1, 0.4, 0.9])
Y = np.array([0.2, 0.5, 1.4])


def covariance(left: Array, right: Array) -> Array:
    """Of the first output's residual at the points `left` and `right`."""
    return np.asarray(KERNELS[0](Correlations.between(at(left), at(right))).sum(axis=0))


def test_a_linear_mean_gives_the_textbook_process() -> None:
    model = Model(KERNELS, data(X, Y, output=0, sd=0.05))
    new = np.array([0.25, 2.0])
    joint = SLOPE_SD**2 * np.outer(X, X) + covariance(X, X) + 0.05**2 * np.eye(3)
    cross = SLOPE_SD**2 * np.outer(new, X) + covariance(new, X)
    own = SLOPE_SD**2 * new**2 + KERNELS[0].variance(at(new)).sum(axis=0)
    gain = cross @ np.linalg.inv(joint)
    mean, sd = model.predict(new, [0])
    assert np.allclose(mean[0], 0.5 * new + gain @ (Y - 0.5 * X))
    assert np.allclose(sd[0] ** 2, own - (gain * cross).sum(axis=1))
    exact = multivariate_normal(0.5 * X, joint).logpdf(Y)
    assert model.posterior.log_evidence == pytest.approx(exact + 1.5 * np.log(2 * np.pi))


def test_one_output_teaches_the_other_through_the_shared_parameter() -> None:
    steep = 3.0 * X
    mean, sd = Model(KERNELS, data(X, steep, output=0, sd=0.01)).predict(np.array([2.0]), [1])
    assert mean[0, 0] == pytest.approx(-6.0, abs=1.5)
    assert sd[0, 0] < SLOPE_SD * 2.0


def test_gauss_newton_finds_the_parameter_of_a_bent_mean() -> None:
    x = np.linspace(0.1, 2.0, 30)
    observations = data(x, np.exp(1.7) * x, output=0, sd=0.01)
    model = Model([ResidualKernel(1e-3, 0), KERNELS[1]], observations, bend=True)
    assert model.linearisation.theta[0] == pytest.approx(1.7, abs=0.01)


def test_observations_that_repeat_reduce_the_noise() -> None:
    once = Model(KERNELS, data(X[:1], Y[:1], output=0, sd=0.2))
    twice = Model(KERNELS, data(X[[0, 0]], Y[[0, 0]], output=0, sd=0.2))
    assert twice.predict(X[:1], [0])[1] < once.predict(X[:1], [0])[1]


def test_the_covariance_of_two_points_is_that_of_the_textbook() -> None:
    model = Model(KERNELS, data(X, Y, output=0, sd=0.05))
    new, other = np.array([0.25, 2.0]), np.array([1.5])
    joint = SLOPE_SD**2 * np.outer(X, X) + covariance(X, X) + 0.05**2 * np.eye(3)
    cross_new, cross_other = (SLOPE_SD**2 * np.outer(x, X) + covariance(x, X) for x in (new, other))
    own = SLOPE_SD**2 * np.outer(new, other) + covariance(new, other)
    expansion = Expansion(model.linearisation, at(new), [0], Expansion(model.linearisation, at(other), [0]))
    found = model.posterior.predict(expansion)[2]
    assert found is not None
    assert np.allclose(found[0], (own - cross_new @ np.linalg.inv(joint) @ cross_other.T)[:, 0])


def test_a_hypothesis_multiplies_what_the_formulas_miss_but_not_what_they_do_not_know() -> None:
    def with_unknown(x: Array) -> Inputs:
        return replace(at(x), unknown=x[:, None], fastest=np.zeros(1))

    kernel, new = ResidualKernel(0.3, 0.5), np.array([0.25, 2.0])
    observed = replace(data(X, Y, output=0, sd=0.05), inputs=with_unknown(X))
    posterior = Model([kernel, kernel], observed, Scales(residual=(3.0, 1.0), noise=(1.0, 1.0))).posterior
    expansion = Expansion(posterior.linearisation, with_unknown(new), [0])

    def prior(left: Array, right: Array) -> Array:
        known, unknown = kernel(Correlations.between(with_unknown(left), with_unknown(right)))
        return np.asarray(SLOPE_SD**2 * np.outer(left, right) + 9.0 * known + unknown)

    gain = prior(new, X) @ np.linalg.inv(prior(X, X) + 0.05**2 * np.eye(3))
    mean, variance, _ = posterior.predict(expansion)
    assert np.allclose(mean[0], 0.5 * new + gain @ (Y - 0.5 * X))
    assert np.allclose(variance[0], np.diag(prior(new, new) - gain @ prior(X, new)))


def test_a_hypothesis_multiplies_noise_and_residual_but_no_bound() -> None:
    observed = data(X, Y, output=0, sd=0.05)
    bounded = replace(observed, is_bound=np.array([False, False, True]))
    own = Linearisation(Line(), KERNELS, bounded).own(Scales(residual=(2.0, 1.0), noise=(3.0, 1.0)))
    assert np.allclose(own - np.diag(np.diag(own)), 4.0 * (covariance(X, X) - 0.09 * np.eye(3)))
    assert np.diag(own) - 4.0 * 0.09 == pytest.approx([0.15**2, 0.15**2, 0.05**2])


def test_the_evidence_prefers_the_noise_that_the_data_have() -> None:
    x = np.repeat(X, 5)
    scattered = x + 0.2 * np.random.default_rng(0).standard_normal(len(x))
    linearisation = Linearisation(Line(), KERNELS, data(x, scattered, output=0, sd=0.04))
    evidence = [Posterior(linearisation, Scales((1.0, 1.0), (n, 1.0))).log_evidence for n in (1.0, 5.0, 25.0)]
    assert max(evidence) == evidence[1]
