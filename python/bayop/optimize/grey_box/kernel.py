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
        unknown: Over those that it does not explain; 0 where there are none.
        effect: The covariance of what the latter change against the fastest setting, where `unknown` is that of what
            changes: the formulas are about a server with the fastest one's.
    """

    known: Array
    unknown: Array
    effect: Array

    @classmethod
    def between(cls, left: Inputs, right: Inputs) -> Correlations:
        """Shapes (len(left), len(right))."""
        load = (left.log_load[:, None] - right.log_load[None, :]) / _LOAD_LENGTH
        known = _squared_distance(left.known, right.known) / _KNOWN_LENGTH**2 + load**2
        if not left.unknown.shape[1]:
            none = np.zeros_like(known)
            return cls(_matern52(known), none, none)
        unknown = _matern52(_squared_distance(left.unknown, right.unknown) / _UNKNOWN_LENGTH**2)
        return cls(_matern52(known), unknown, unknown - _of_fastest(left)[:, None] - _of_fastest(right) + 1.0)

    def columns(self, index: NDArray[np.intp]) -> Correlations:
        """Those with the points `index` of the right side."""
        return Correlations(self.known[:, index], self.unknown[:, index], self.effect[:, index])


@dataclass(frozen=True, slots=True)
class ResidualKernel:
    """Matern 5/2 in two parts, of which the data decide how large the first is (`Scales`).

    Of an output that has a formula, the first is what that misses, small and over the knobs that it knows; the second
    is what the other knobs do, large, since how far the formula is off says nothing of them. Of an output without one,
    the first is all.

    Attributes:
        known_sd: Standard deviation (of a logarithm) over the knobs that the formulas know.
        unknown_sd: Standard deviation of a function of the other knobs. Where there is a formula, a setting's effect is
            this function there, less that at the fastest setting, so that its variance goes up to twice the square.
        explained: Whether the output has a formula.
    """

    known_sd: float
    unknown_sd: float
    explained: bool = True

    def __call__(self, correlations: Correlations) -> Array:
        """Covariances of both parts, shape (2, left, right)."""
        return self._parts(correlations.known, correlations.unknown, correlations.effect)

    def variance(self, at: Inputs) -> Array:
        """Prior variances of both parts at each point, shape (2, len(at))."""
        one = np.ones(len(at))
        return self._parts(one, one * bool(at.unknown.shape[1]), 2.0 * (one - _of_fastest(at)))

    def _parts(self, known: Array, unknown: Array, effect: Array) -> Array:
        """Both parts of unit size, times theirs."""
        if self.explained:
            return np.stack([self.known_sd**2 * known, self.unknown_sd**2 * effect])
        return np.stack([self.known_sd**2 * known + self.unknown_sd**2 * unknown, np.zeros_like(known)])


def scaled(parts: Array, scale: float | Array) -> Array:
    """A residual's covariances, where `scale` multiplies those of its first part."""
    return np.asarray(scale * parts[0] + parts[1])


def _squared_distance(left: Array, right: Array) -> Array:
    difference = left[:, None, :] - right[None, :, :]
    return np.asarray((difference**2).sum(axis=-1))


def _of_fastest(at: Inputs) -> Array:
    """How alike points are to the fastest setting in the unknown knobs."""
    return _matern52(((at.unknown - at.fastest) ** 2).sum(axis=-1) / _UNKNOWN_LENGTH**2)


def _matern52(squared: Array) -> Array:
    distance = _SQRT5 * np.sqrt(squared)
    return (1.0 + distance + distance**2 / 3.0) * np.exp(-distance)
