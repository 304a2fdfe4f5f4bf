"""One exact Gaussian-process update over the parameters of the analytic prior and the residual that it leaves.

With m(theta) the prior mean linearised at its best parameters t (Gauss-Newton), theta ~ N(t0, S) and residual
processes r_o ~ GP(0, k_o), one for each output o, the logarithm of output o at point x is

    y_o(x) = m_o(x; t) + J_o(x) (theta - t) + r_o(x)

which is Gaussian, with mean m_o(x; t) + J_o(x) (t0 - t) and covariance J_o S J_p' + [o = p] k_o. Conditioning it on
the observations updates theta and r at once (the Laplace approximation of the joint posterior).

How large the residuals and the noise are is a hypothesis. All hypotheses share one linearisation, so that what is
costly, the formulas and their derivatives, is computed once (`Linearisation`, `Expansion`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from bayop.optimize.grey_box.inputs import Array, Inputs
from bayop.optimize.grey_box.kernel import ResidualKernel

_MAX_STEPS = 12
_TOLERANCE = 1e-3


class MeanFunction(Protocol):
    """A parametric prior mean of several outputs."""

    @property
    def mean(self) -> Array:
        """Prior mean of the p parameters."""
        ...

    @property
    def sd(self) -> Array:
        """Their prior standard deviations."""
        ...

    def jacobian(self, theta: Array, at: Inputs) -> tuple[Array, Array]:
        """Values (o, n) and derivatives (o, n, p) at n points."""
        ...


@dataclass(frozen=True, slots=True)
class Data:
    """What was observed: entry i is the logarithm of output `output[i]` at point `point[i]`.

    Attributes:
        inputs: The n points.
        point: Index into the points, shape (m,).
        output: Index of the output, shape (m,).
        value: The logarithm of the measured quantity, shape (m,).
        sd: Standard deviation of its noise as reported, shape (m,).
        is_bound: Whether the value is a bound that is taken for the quantity, and has no noise to learn, shape (m,).
    """

    inputs: Inputs
    point: np.ndarray[tuple[int], np.dtype[np.intp]]
    output: np.ndarray[tuple[int], np.dtype[np.intp]]
    value: Array
    sd: Array
    is_bound: np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class Scales:
    """One hypothesis: what multiplies the believed sizes, for each output.

    Attributes:
        residual: Of the residual's standard deviations.
        noise: Of the reported standard deviations of the noise.
    """

    residual: tuple[float, ...]
    noise: tuple[float, ...]


class Linearisation:
    """The prior mean at its best parameters for some data, and the data's covariances of unit scale.

    Args:
        mean_function: The parametric prior mean.
        kernels: The residual kernel of each output, at scale 1.
        data: At least one observation.
    """

    def __init__(self, mean_function: MeanFunction, kernels: Sequence[ResidualKernel], data: Data) -> None:
        self.mean_function = mean_function
        self.kernels = kernels
        self.data = data
        self.t0, self.s = mean_function.mean, mean_function.sd**2
        self.theta = self.t0
        self._rows = [np.flatnonzero(data.output == o) for o in range(len(kernels))]
        self._blocks = [self._block(o) for o in range(len(kernels))]

    @cached_property
    def _at_theta(self) -> tuple[Array, Array, Array]:
        value, jacobian = self._at_data(self.theta)
        return self.data.value - value - jacobian @ (self.t0 - self.theta), jacobian, (jacobian * self.s) @ jacobian.T

    @property
    def innovation(self) -> Array:
        """What was observed minus its prior mean, shape (m,)."""
        return self._at_theta[0]

    @property
    def jacobian(self) -> Array:
        """Derivatives of the prior mean at the data by the parameters, shape (m, p)."""
        return self._at_theta[1]

    @property
    def shared(self) -> Array:
        """Covariance of the data that the parameters' uncertainty makes, shape (m, m)."""
        return self._at_theta[2]

    def rows(self, output: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """Indices of the data that are of one output."""
        return self._rows[output]

    def own(self, scales: Scales) -> Array:
        """Covariance of the data that residuals and noise of these sizes make, shape (m, m)."""
        data = self.data
        noise = np.where(data.is_bound, 1.0, np.asarray(scales.noise)[data.output]) * data.sd
        covariance = np.diag(noise**2)
        for rows, block, scale in zip(self._rows, self._blocks, scales.residual, strict=True):
            covariance[np.ix_(rows, rows)] += scale**2 * block
        return np.asarray(covariance)

    def relinearise(self, scales: Scales) -> None:
        """Moves to the maximum a posteriori parameters for these sizes, by Gauss-Newton with step halving."""
        own = self.own(scales)
        factor = cho_factor(own, lower=True, check_finite=False)

        def misfit(value: Array, theta: Array) -> float:
            error = self.data.value - value
            return float(error @ cho_solve(factor, error, check_finite=False) + ((theta - self.t0) ** 2 / self.s).sum())

        theta = self.theta
        value, jacobian = self._at_data(theta)
        cost = misfit(value, theta)
        for _ in range(_MAX_STEPS):
            gain = cho_factor(own + (jacobian * self.s) @ jacobian.T, lower=True, check_finite=False)
            error = self.data.value - value + jacobian @ (theta - self.t0)
            step = self.t0 + self.s * (jacobian.T @ cho_solve(gain, error, check_finite=False)) - theta
            theta, value, jacobian, new_cost = self._line_search(theta, step, cost, misfit)
            if cost - new_cost < _TOLERANCE:
                break
            cost = new_cost
        self.theta = theta
        self.__dict__.pop("_at_theta", None)

    def _block(self, output: int) -> Array:
        at = self.data.inputs.rows(self.data.point[self._rows[output]])
        return np.asarray(self.kernels[output](at, at))

    def _at_data(self, theta: Array) -> tuple[Array, Array]:
        value, jacobian = self.mean_function.jacobian(theta, self.data.inputs)
        index = (self.data.output, self.data.point)
        return value[index], jacobian[index]

    def _line_search(
        self, theta: Array, step: Array, cost: float, misfit: Callable[[Array, Array], float]
    ) -> tuple[Array, Array, Array, float]:
        for halving in range(6):
            trial = theta + step * 0.5**halving
            value, jacobian = self._at_data(trial)
            trial_cost = misfit(value, trial)
            if trial_cost < cost:
                return trial, value, jacobian, trial_cost
        value, jacobian = self._at_data(theta)
        return theta, value, jacobian, cost


class Expansion:
    """Some outputs of the linearised model at n points, before the data and whatever the hypothesis.

    Args:
        linearisation: The model.
        at: The points.
        outputs: Indices of the outputs.
    """

    def __init__(self, linearisation: Linearisation, at: Inputs, outputs: Sequence[int]) -> None:
        value, jacobian = linearisation.mean_function.jacobian(linearisation.theta, at)
        self.at = at
        self.outputs = list(outputs)
        self.mean = value[self.outputs] + jacobian[self.outputs] @ (linearisation.t0 - linearisation.theta)
        self.jacobian = jacobian[self.outputs]
        self.shared = [(j * linearisation.s) @ linearisation.jacobian.T for j in self.jacobian]
        self.residual = [
            linearisation.kernels[o](
                at, linearisation.data.inputs.rows(linearisation.data.point[linearisation.rows(o)])
            )
            for o in self.outputs
        ]


class Posterior:
    """The model after the data, under one hypothesis.

    Args:
        linearisation: The model and the data.
        scales: The hypothesis.
    """

    def __init__(self, linearisation: Linearisation, scales: Scales) -> None:
        self.scales = scales
        self.linearisation = linearisation
        covariance = linearisation.shared + linearisation.own(scales)
        self._factor = cho_factor(covariance, lower=True, check_finite=False)
        self._weights = np.asarray(cho_solve(self._factor, linearisation.innovation, check_finite=False))

    @property
    def likelihood(self) -> tuple[Array, Array]:
        """What the data say of the parameters' deviations t from t0, without their prior: exp(s t - t P t / 2).

        Returns:
            P, shape (p, p), and s, shape (p,).
        """
        jacobian = self.linearisation.jacobian
        own = cho_factor(self.linearisation.own(self.scales), lower=True, check_finite=False)
        weighted = np.asarray(cho_solve(own, jacobian, check_finite=False)).T
        return weighted @ jacobian, weighted @ self.linearisation.innovation

    @property
    def log_evidence(self) -> float:
        """Logarithm of the marginal likelihood of the data, up to a constant."""
        log_determinant = 2.0 * np.log(np.diag(self._factor[0])).sum()
        return -0.5 * float(self.linearisation.innovation @ self._weights + log_determinant)

    def predict(self, expansion: Expansion, against: Expansion | None = None) -> tuple[Array, Array, Array | None]:
        """Mean, variance and covariance of the logarithms of the expansion's outputs.

        Args:
            expansion: The n points.
            against: One point with the same outputs, with which the covariances are wanted.

        Returns:
            Shapes (o, n) each; the covariance of each point's output with the same output at the point `against`.
        """
        means, variances, covariances = [], [], []
        for i, o in enumerate(expansion.outputs):
            cross = self._cross(expansion, i)
            solved = np.asarray(cho_solve(self._factor, cross.T, check_finite=False))
            means.append(expansion.mean[i] + cross @ self._weights)
            prior = (expansion.jacobian[i] ** 2) @ self.linearisation.s + self._residual_variance(expansion, o)
            variances.append(np.maximum(prior - np.einsum("ij,ji->i", cross, solved), 1e-12))
            if against is not None:
                shared = (expansion.jacobian[i] * self.linearisation.s) @ against.jacobian[i, 0]
                kernel = self.linearisation.kernels[o](expansion.at, against.at)[:, 0]
                between = shared + self.scales.residual[o] ** 2 * kernel
                covariances.append(between - self._cross(against, i)[0] @ solved)
        return np.array(means), np.array(variances), np.array(covariances) if against is not None else None

    def _cross(self, expansion: Expansion, i: int) -> Array:
        """Prior covariance of output i of the expansion with the data, shape (n, m)."""
        o = expansion.outputs[i]
        cross = np.array(expansion.shared[i])
        cross[:, self.linearisation.rows(o)] += self.scales.residual[o] ** 2 * expansion.residual[i]
        return cross

    def _residual_variance(self, expansion: Expansion, output: int) -> Array:
        variance = self.linearisation.kernels[output].variance(expansion.at)
        return np.asarray(self.scales.residual[output] ** 2 * variance)
