"""Covariance of what the analytic prior misses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bayop.optimize.grey_box.inputs import Array, Inputs

_KNOWN_LENGTH: Final = 0.5
_UNKNOWN_LENGTH: Final = 0.5
_LOAD_LENGTH: Final = 0.7
_SQRT5: Final = 5.0**0.5


@dataclass(frozen=True, slots=True)
class Correlations:
    """How alike points are, whatever the output: what all residual kernels are made of, so that it is computed once.

    Attributes:
        known: Over the knobs that the prior explains, and the load.
        unknown: Over those that it does not explain; None where there are none.
    """

    known: Array
    unknown: Array | None

    @classmethod
    def between(cls, left: Inputs, right: Inputs) -> Correlations:
        """Shapes (len(left), len(right))."""
        load = (left.log_load[:, None] - right.log_load[None, :]) / _LOAD_LENGTH
        known = _squared_distance(left.known, right.known) / _KNOWN_LENGTH**2 + load**2
        if not left.unknown.shape[1]:
            return cls(_matern52(known), None)
        return cls(_matern52(known), _matern52(_squared_distance(left.unknown, right.unknown) / _UNKNOWN_LENGTH**2))

    def columns(self, index: NDArray[np.intp]) -> Correlations:
        """Those with the points `index` of the right side."""
        return Correlations(self.known[:, index], None if self.unknown is None else self.unknown[:, index])


@dataclass(frozen=True, slots=True)
class ResidualKernel:
    """Matern 5/2 over all coordinates, in two parts: small over what the prior explains, large over what it does not.

    Attributes:
        known_sd: Standard deviation (of a logarithm) over the knobs that the prior explains.
        unknown_sd: The same over all knobs together, for the effect of those that it does not explain.
    """

    known_sd: float
    unknown_sd: float

    def __call__(self, correlations: Correlations) -> Array:
        """Covariances."""
        covariance = self.known_sd**2 * correlations.known
        if correlations.unknown is not None:
            # Two points that agree in the unknown knobs share their effect; it cancels only where they differ.
            covariance = covariance + self.unknown_sd**2 * correlations.unknown
        return covariance

    def variance(self, at: Inputs) -> Array:
        """Prior variance at each point, shape (len(at),)."""
        total = self.known_sd**2 + (self.unknown_sd**2 if at.unknown.shape[1] else 0.0)
        return np.full(len(at), total)


def _squared_distance(left: Array, right: Array) -> Array:
    difference = left[:, None, :] - right[None, :, :]
    return np.asarray((difference**2).sum(axis=-1))


def _matern52(squared: Array) -> Array:
    distance = _SQRT5 * np.sqrt(squared)
    return (1.0 + distance + distance**2 / 3.0) * np.exp(-distance)
