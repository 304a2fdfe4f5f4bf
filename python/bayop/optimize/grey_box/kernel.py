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
        # The difference to the fastest setting: the formulas are about the server with its unknown knobs.
        alike = _matern52(_squared_distance(left.unknown, right.unknown) / _UNKNOWN_LENGTH**2)
        return cls(_matern52(known), alike - _of_fastest(left)[:, None] - _of_fastest(right) + 1.0)

    def columns(self, index: NDArray[np.intp]) -> Correlations:
        """Those with the points `index` of the right side."""
        return Correlations(self.known[:, index], None if self.unknown is None else self.unknown[:, index])


@dataclass(frozen=True, slots=True)
class ResidualKernel:
    """Matern 5/2 in two parts: small over what the prior explains, large over what it does not.

    They are apart, since how far the formulas are off says nothing of a knob that they don't know: only the first
    has a scale that the data decide about (`Scales`).

    Attributes:
        known_sd: Standard deviation (of a logarithm) over the knobs that the prior explains.
        unknown_sd: Standard deviation of a function of the other knobs. A setting's effect is this function there, less
            that at the fastest setting, so that its variance goes up to twice the square.
    """

    known_sd: float
    unknown_sd: float

    def __call__(self, correlations: Correlations) -> Array:
        """Covariances of each part, shape (parts, left, right); there is one part where every knob is known."""
        known = self.known_sd**2 * correlations.known
        if correlations.unknown is None:
            return known[None]
        # Two points that agree in the unknown knobs share their effect.
        return np.stack([known, self.unknown_sd**2 * correlations.unknown])

    def variance(self, at: Inputs) -> Array:
        """Prior variance of each part at each point, shape (parts, len(at))."""
        known = np.full(len(at), self.known_sd**2)
        if not at.unknown.shape[1]:
            return known[None]
        return np.stack([known, 2.0 * self.unknown_sd**2 * (1.0 - _of_fastest(at))])


def scaled(parts: Array, scale: float | Array) -> Array:
    """Covariances of a residual's parts, together, where `scale` multiplies those of what the prior explains."""
    total = np.asarray(scale * parts[0])
    return total if len(parts) == 1 else total + parts[1]


def _squared_distance(left: Array, right: Array) -> Array:
    difference = left[:, None, :] - right[None, :, :]
    return np.asarray((difference**2).sum(axis=-1))


def _of_fastest(at: Inputs) -> Array:
    """How alike points are to the fastest setting in the unknown knobs, where its coordinates are 0."""
    return _matern52((at.unknown**2).sum(axis=-1) / _UNKNOWN_LENGTH**2)


def _matern52(squared: Array) -> Array:
    distance = _SQRT5 * np.sqrt(squared)
    return (1.0 + distance + distance**2 / 3.0) * np.exp(-distance)
