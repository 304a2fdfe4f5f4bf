"""Nonlinear least squares from several starts, and what it says about the parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np
from scipy import optimize

from bayop.model.cells import Array

_TOLERANCE: Final = 1e-10
_MOST_EVALUATIONS: Final = 100


def solve(residuals: Callable[[Array], Array], jacobian: Callable[[Array], Array], starts: Iterable[Array]) -> Array:
    """The parameters with the least sum of squared residuals, of all local minima that the starts lead to.

    Args:
        residuals: From parameters (p,) to residuals (n,), n >= p.
        jacobian: From parameters (p,) to derivatives (n, p).
        starts: Where to begin.
    """
    solutions = [
        optimize.least_squares(
            residuals, start, jac=jacobian, method="trf", x_scale="jac", xtol=_TOLERANCE, ftol=_TOLERANCE,
            gtol=_TOLERANCE, max_nfev=_MOST_EVALUATIONS,
        )
        for start in starts
    ]  # fmt: skip
    return np.asarray(min(solutions, key=lambda solution: solution.cost).x)


def covariance(residuals: Array, jacobian: Array) -> Array:
    """Covariance of the parameters at a minimum, shape (p, p): s^2 (J^T J)^-1, s^2 from the residuals.

    It takes the model for true and the errors for independent, so where the model is visibly wrong it is too small;
    the bootstrap is not.
    """
    count, parameters = jacobian.shape
    variance = float(residuals @ residuals) / max(count - parameters, 1)
    return np.asarray(variance * np.linalg.pinv(jacobian.T @ jacobian))
