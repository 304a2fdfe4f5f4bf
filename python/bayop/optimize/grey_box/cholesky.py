"""Cholesky factors of covariances, straight from LAPACK: of a few trials SciPy's checks cost more than the factor."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri

from bayop.optimize.grey_box.inputs import Array


class Cholesky:
    """The factor L of a covariance L L'.

    Args:
        covariance: Shape (m, m).

    Raises:
        numpy.linalg.LinAlgError: it is not positive definite.
    """

    def __init__(self, covariance: Array) -> None:
        self._factor, failed = dpotrf(covariance, lower=1)
        if failed:
            raise np.linalg.LinAlgError(f"the leading minor {failed} of a covariance is not positive definite")

    def solve(self, right: Array) -> Array:
        """The covariance's inverse times `right`, shape (m,) or (m, n)."""
        return np.asarray(dpotrs(self._factor, right, lower=1)[0])

    def whiten(self, rows: Array) -> Array:
        """L^-1 times each row, shape (..., m). Their products are those of the rows with the covariance's inverse."""
        return np.asarray(rows @ self._inverse.T)

    @property
    def log_determinant(self) -> float:
        """Of the covariance."""
        return float(2.0 * np.log(np.diag(self._factor)).sum())

    @cached_property
    def _inverse(self) -> Array:
        """L^-1."""
        return np.asarray(dtrtri(self._factor, lower=1)[0])
