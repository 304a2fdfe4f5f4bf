"""One exact Gaussian-process update over the parameters of the analytic prior and the residual that it leaves.

With m(theta) the prior mean linearised at its best parameters t (Gauss-Newton), theta ~ N(t0, S) and residual
processes r_o ~ GP(0, k_o), one for each output o, the logarithm of output o at point x is

    y_o(x) = m_o(x; t) + J_o(x) (theta - t) + r_o(x)

which is Gaussian, with mean m_o(x; t) + J_o(x) (t0 - t) and covariance J_o S J_p' + [o = p] k_o. Conditioning it on
the observations updates theta and r at once (the Laplace approximation of the joint posterior).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
        sd: Standard deviation of its noise, shape (m,).
    """

    inputs: Inputs
    point: np.ndarray[tuple[int], np.dtype[np.intp]]
    output: np.ndarray[tuple[int], np.dtype[np.intp]]
    value: Array
    sd: Array


class Posterior:
    """The model after the data.

    Args:
        mean_function: The parametric prior mean.
        kernels: The residual kernel of each output.
        data: At least one observation.
        start: Where to start looking for the best parameters; by default at their prior mean.
    """

    def __init__(
        self,
        mean_function: MeanFunction,
        kernels: Sequence[ResidualKernel],
        data: Data,
        *,
        start: Array | None = None,
    ) -> None:
        self._mean_function = mean_function
        self._kernels = kernels
        self._data = data
        self._t0, self._s = mean_function.mean, mean_function.sd**2
        residual = self._residual_covariance()
        self._theta = self._best_parameters(residual, self._t0 if start is None else start)
        value, jacobian = self._at_data(self._theta)
        self._jacobian = jacobian
        self._factor = cho_factor(residual + (jacobian * self._s) @ jacobian.T, lower=True, check_finite=False)
        self._innovation = data.value - value - jacobian @ (self._t0 - self._theta)
        self._weights = np.asarray(cho_solve(self._factor, self._innovation, check_finite=False))

    @property
    def theta(self) -> Array:
        """The parameters that the mean is linearised at."""
        return self._theta

    @property
    def log_evidence(self) -> float:
        """Logarithm of the marginal likelihood of the data, up to a constant."""
        log_determinant = 2.0 * np.log(np.diag(self._factor[0])).sum()
        return -0.5 * float(self._innovation @ self._weights + log_determinant)

    def has_seen(self, output: int) -> bool:
        """Whether any observation is of this output."""
        return bool((self._data.output == output).any())

    def predict(self, at: Inputs, outputs: Sequence[int]) -> tuple[Array, Array]:
        """Mean and standard deviation of the logarithm of some outputs, shapes (len(outputs), len(at))."""
        value, jacobian = self._mean_function.jacobian(self._theta, at)
        means, sds = [], []
        data = self._data
        for o in outputs:
            cross = (jacobian[o] * self._s) @ self._jacobian.T
            same = np.flatnonzero(data.output == o)
            if len(same):
                cross[:, same] += self._kernels[o](at, data.inputs.rows(data.point[same]))
            prior_mean = value[o] + jacobian[o] @ (self._t0 - self._theta)
            prior_variance = (jacobian[o] ** 2) @ self._s + self._kernels[o].variance(at)
            explained = np.einsum("ij,ji->i", cross, np.asarray(cho_solve(self._factor, cross.T, check_finite=False)))
            means.append(prior_mean + cross @ self._weights)
            sds.append(np.sqrt(np.maximum(prior_variance - explained, 1e-12)))
        return np.array(means), np.array(sds)

    def _residual_covariance(self) -> Array:
        data = self._data
        covariance = np.diag(data.sd**2)
        for o, kernel in enumerate(self._kernels):
            same = np.flatnonzero(data.output == o)
            if len(same):
                at = data.inputs.rows(data.point[same])
                covariance[np.ix_(same, same)] += kernel(at, at)
        return np.asarray(covariance)

    def _at_data(self, theta: Array) -> tuple[Array, Array]:
        value, jacobian = self._mean_function.jacobian(theta, self._data.inputs)
        index = (self._data.output, self._data.point)
        return value[index], jacobian[index]

    def _best_parameters(self, residual: Array, theta: Array) -> Array:
        """The maximum a posteriori parameters, by Gauss-Newton with step halving."""
        factor = cho_factor(residual, lower=True, check_finite=False)

        def misfit(value: Array, theta: Array) -> float:
            error = self._data.value - value
            return float(
                error @ cho_solve(factor, error, check_finite=False) + ((theta - self._t0) ** 2 / self._s).sum()
            )

        value, jacobian = self._at_data(theta)
        cost = misfit(value, theta)
        for _ in range(_MAX_STEPS):
            gain = cho_factor(residual + (jacobian * self._s) @ jacobian.T, lower=True, check_finite=False)
            error = self._data.value - value + jacobian @ (theta - self._t0)
            step = self._t0 + self._s * (jacobian.T @ cho_solve(gain, error, check_finite=False)) - theta
            theta, value, jacobian, new_cost = self._line_search(theta, step, cost, misfit)
            if cost - new_cost < _TOLERANCE:
                break
            cost = new_cost
        return theta

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
