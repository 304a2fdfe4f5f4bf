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
from typing import Protocol

import numpy as np

from bayop.optimize.grey_box.cholesky import Cholesky
from bayop.optimize.grey_box.inputs import Array, Inputs
from bayop.optimize.grey_box.kernel import Correlations, ResidualKernel, scaled

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
        residual: Of the standard deviations of the residuals' first parts.
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

    Attributes:
        theta: The best parameters, shape (p,).
        jacobian: Derivatives of the prior mean at the data by the parameters, shape (m, p).
        innovation: What was observed minus its prior mean, shape (m,).
        shared: Covariance of the data that the parameters' uncertainty makes, shape (m, m).
    """

    def __init__(self, mean_function: MeanFunction, kernels: Sequence[ResidualKernel], data: Data) -> None:
        self.mean_function = mean_function
        self.kernels = kernels
        self.data = data
        self.t0, self.s = mean_function.mean, mean_function.sd**2
        self._rows = [np.flatnonzero(data.output == o) for o in range(len(kernels))]
        alike = Correlations.between(data.inputs, data.inputs)
        self._residual = np.zeros((2, len(data.value), len(data.value)))
        for o, rows in enumerate(self._rows):
            self._residual[:, rows[:, None], rows] = self.residual(alike, o)[:, data.point[rows]]
        self._move(self.t0, *self._at_data(self.t0))

    def _move(self, theta: Array, value: Array, jacobian: Array) -> None:
        """To parameters at which the prior mean of the data is `value`."""
        self.theta, self._value, self.jacobian = theta, value, jacobian
        self.innovation = self.data.value - value - jacobian @ (self.t0 - theta)
        self.shared = (jacobian * self.s) @ jacobian.T

    def rows(self, output: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """Indices of the data that are of one output."""
        return self._rows[output]

    def residual(self, alike: Correlations, output: int) -> Array:
        """Covariance of the parts of an output's residual at n points with its data, at scale 1.

        Its shape is (parts, n, the output's data).

        Args:
            alike: Of the n points and those of the data.
            output: Its index.
        """
        return self.kernels[output](alike.columns(self.data.point[self._rows[output]]))

    def own(self, scales: Scales) -> Array:
        """Covariance of the data that residuals and noise of these sizes make, shape (m, m)."""
        data = self.data
        noise = np.where(data.is_bound, 1.0, np.asarray(scales.noise)[data.output]) * data.sd
        covariance = scaled(self._residual, np.asarray(scales.residual)[data.output, None] ** 2)
        np.fill_diagonal(covariance, covariance.diagonal() + noise**2)
        return covariance

    def relinearise(self, scales: Scales) -> None:
        """Moves to the maximum a posteriori parameters for these sizes, by Gauss-Newton with step halving."""
        own = self.own(scales)
        factor = Cholesky(own)

        def misfit(value: Array, theta: Array) -> float:
            error = self.data.value - value
            return float(error @ factor.solve(error) + ((theta - self.t0) ** 2 / self.s).sum())

        theta, value, jacobian = self.theta, self._value, self.jacobian
        cost = misfit(value, theta)
        for _ in range(_MAX_STEPS):
            gain = Cholesky(own + (jacobian * self.s) @ jacobian.T)
            error = self.data.value - value + jacobian @ (theta - self.t0)
            step = self.t0 + self.s * (jacobian.T @ gain.solve(error)) - theta
            theta, value, jacobian, new_cost = self._line_search(theta, step, (value, jacobian, cost), misfit)
            if cost - new_cost < _TOLERANCE:
                break
            cost = new_cost
        self._move(theta, value, jacobian)

    def _at_data(self, theta: Array) -> tuple[Array, Array]:
        value, jacobian = self.mean_function.jacobian(theta, self.data.inputs)
        index = (self.data.output, self.data.point)
        return value[index], jacobian[index]

    def _line_search(
        self, theta: Array, step: Array, found: tuple[Array, Array, float], misfit: Callable[[Array, Array], float]
    ) -> tuple[Array, Array, Array, float]:
        for halving in range(6):
            trial = theta + step * 0.5**halving
            value, jacobian = self._at_data(trial)
            trial_cost = misfit(value, trial)
            if trial_cost < found[-1]:
                return trial, value, jacobian, trial_cost
        return theta, *found


class Expansion:
    """Some outputs of the linearised model at n points, before the data and whatever the hypothesis.

    Args:
        linearisation: The model.
        at: The points.
        outputs: Indices of the outputs.
        against: One point with the same outputs, with which the covariances are wanted.

    Attributes:
        mean: Prior means, shape (o, n).
        variance: Their variances, that by the parameters, shape (o, n), and that of the residual's parts at scale 1,
            shape (o, parts, n).
        between: Covariances with the point `against`, like `variance`.
    """

    def __init__(
        self, linearisation: Linearisation, at: Inputs, outputs: Sequence[int], against: Expansion | None = None
    ) -> None:
        self.outputs = list(outputs)
        self.at = at
        self.against = against
        value, jacobian = linearisation.mean_function.jacobian(linearisation.theta, at)
        self.jacobian = jacobian[self.outputs]
        self.mean = value[self.outputs] + self.jacobian @ (linearisation.t0 - linearisation.theta)
        kernels = [linearisation.kernels[o] for o in self.outputs]
        alike = Correlations.between(at, linearisation.data.inputs)
        self._residuals = [linearisation.residual(alike, o) for o in self.outputs]
        self.variance = self.jacobian**2 @ linearisation.s, np.array([k.variance(at) for k in kernels])
        if against is not None:
            alike = Correlations.between(at, against.at)
            shared = ((self.jacobian * linearisation.s) @ against.jacobian[:, 0, :, None])[..., 0]
            self.between = shared, np.array([k(alike)[..., 0] for k in kernels])

    def features(self, index: int, scale: float) -> Array:
        """What ties an output to the data, shape (n, p + the output's data).

        These are its derivatives by the parameters, and its residual's covariances with its own data.

        Args:
            index: Of the output, among the expansion's.
            scale: What multiplies its residual's variance.
        """
        return np.hstack([self.jacobian[index], scaled(self._residuals[index], scale)])


class Posterior:
    """The model after the data, under one hypothesis.

    Args:
        linearisation: The model and the data.
        scales: The hypothesis.
    """

    def __init__(self, linearisation: Linearisation, scales: Scales) -> None:
        self.scales = scales
        self.linearisation = linearisation
        self._factor = Cholesky(linearisation.shared + linearisation.own(scales))
        self._weights = self._factor.solve(linearisation.innovation)
        self._learned: dict[int, tuple[Array, Array]] = {}

    @property
    def likelihood(self) -> tuple[Array, Array]:
        """What the data say of the parameters' deviations t from t0, without their prior: exp(s t - t P t / 2).

        Returns:
            P, shape (p, p), and s, shape (p,).
        """
        jacobian = self.linearisation.jacobian
        weighted = Cholesky(self.linearisation.own(self.scales)).solve(jacobian).T
        return weighted @ jacobian, weighted @ self.linearisation.innovation

    @property
    def log_evidence(self) -> float:
        """Logarithm of the marginal likelihood of the data, up to a constant."""
        return -0.5 * float(self.linearisation.innovation @ self._weights + self._factor.log_determinant)

    def predict(self, expansion: Expansion) -> tuple[Array, Array, Array | None]:
        """Mean, variance and covariance of the logarithms of the expansion's outputs.

        Returns:
            Shapes (o, n) each; the covariance of each point's output with the same output at the point `against`.
        """
        means, variances, covariances = [], [], []
        for i, o in enumerate(expansion.outputs):
            pull, gain = self._of_data(o)
            scale = self.scales.residual[o] ** 2
            features = expansion.features(i, scale)
            means.append(expansion.mean[i] + features @ pull)
            shared, residual = expansion.variance
            taken = np.einsum("nf,nf->n", features @ gain, features)
            variances.append(np.maximum(shared[i] + scaled(residual[i], scale) - taken, 1e-12))
            if expansion.against is not None:
                shared, residual = expansion.between
                taken = features @ (gain @ expansion.against.features(i, scale)[0])
                covariances.append(shared[i] + scaled(residual[i], scale) - taken)
        return np.array(means), np.array(variances), np.array(covariances) if covariances else None

    def _of_data(self, output: int) -> tuple[Array, Array]:
        """What the data make of an output's features f: f times the first more mean, and f G f' less variance."""
        if output not in self._learned:
            model = self.linearisation
            own = np.eye(len(model.data.value))[model.rows(output)]
            cross = np.vstack([model.s[:, None] * model.jacobian.T, own])
            white = self._factor.whiten(cross)
            self._learned[output] = cross @ self._weights, white @ white.T
        return self._learned[output]
