"""Where a cliff may be: every plane through the settings that what was tried leaves likely.

Beyond a cliff latency is many times what it is a step before (a ring overflows, threads convoy), and no smooth model
tells the one side from the other. What is known of a cliff is which settings lie on which side. Its edge is taken for a
plane of any direction and at any place, all alike likely before anything fell.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from bayop.optimize.grey_box.inputs import Array, Inputs

_DIRECTIONS: Final = 128
_PLACES: Final = 64
_MISTAKEN: Final = 0.003
"""Probability that a window shows the wrong side: by a disturbance, or because the edge is no plane."""


class Cliff:
    """A cliff somewhere between points on its near side and points beyond.

    Args:
        fine: Points on the near side, at least one.
        fallen: Points beyond, at least one.
    """

    def __init__(self, fine: Inputs, fallen: Inputs) -> None:
        self._directions = _directions(fine.coordinates.shape[1])
        place = np.arange(_PLACES)
        mistakes = np.zeros((_DIRECTIONS, _PLACES))
        for before in self._places_before(fine):
            mistakes += place < before[:, None]
        for before in self._places_before(fallen):
            mistakes += place >= before[:, None]
        likely = _MISTAKEN ** (mistakes - mistakes.min())
        self._beyond = np.pad(np.cumsum(likely, axis=1), ((0, 0), (1, 0))) / likely.sum()
        """Probability of each direction and of its first so many places, shape (directions, 1 + places)."""

    def clear(self, at: Inputs) -> Array:
        """Probability that each of n points lies on the near side, shape (n,)."""
        return np.asarray(1.0 - self._beyond[np.arange(_DIRECTIONS), self._places_before(at)].sum(axis=1))

    def _places_before(self, points: Inputs) -> NDArray[np.intp]:
        """For each point and direction, how many places the point is beyond, shape (points, directions)."""
        # Coordinates lie between 0 and 1; places are shares of the way from where a direction enters that cube.
        entry, way = np.minimum(self._directions, 0.0).sum(axis=1), np.abs(self._directions).sum(axis=1)
        share = (points.coordinates @ self._directions.T - entry) / way
        return np.asarray(np.clip(np.rint(_PLACES * share), 0, _PLACES), dtype=np.intp)


@cache
def _directions(dimensions: int) -> Array:
    """Vectors in all directions alike, shape (directions, dimensions): normal quantiles of Roberts' R sequence."""
    root = 2.0
    for _ in range(64):
        root = (1.0 + root) ** (1.0 / (dimensions + 1))
    steps = np.outer(np.arange(1, _DIRECTIONS + 1), root ** -np.arange(1.0, dimensions + 1.0))
    return np.asarray(ndtri((0.5 + steps) % 1.0))
