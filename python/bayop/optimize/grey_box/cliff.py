"""Where a cliff may be: every plane through the settings that what was tried leaves likely.

Beyond a cliff latency is many times what it is a step before (a ring overflows, threads convoy), and no smooth model
tells the one side from the other. What is known of a cliff is which settings lie on which side. Its edge is taken for a
plane of any direction and at any place, all alike likely before anything fell.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
from scipy.special import ndtri

from bayop.optimize.grey_box.inputs import Array, Inputs

_DIRECTIONS: Final = 128
_PLACES: Final = 64
_MISTAKEN: Final = 0.003
"""Probability that a window shows the wrong side: by a disturbance, or because the edge is no plane."""


def clear_of_cliff(at: Inputs, fine: Inputs, fallen: Inputs) -> Array:
    """Probability that each of n points lies on the near side of the cliff, shape (n,).

    Args:
        at: The points.
        fine: Points known to lie on the near side, at least one.
        fallen: Points beyond, at least one.
    """
    direction = _directions(at.known.shape[1] + at.unknown.shape[1])
    # Coordinates lie between 0 and 1; places are shares of the way from where a direction enters that cube.
    entry, way = np.minimum(direction, 0.0).sum(axis=1), np.abs(direction).sum(axis=1)

    def places_before(points: Inputs) -> Array:
        """For each point and direction, how many places a point is beyond, shape (points, directions)."""
        share = (np.column_stack([points.known, points.unknown]) @ direction.T - entry) / way
        return np.asarray(np.clip(np.rint(_PLACES * share), 0, _PLACES))

    place = np.arange(_PLACES)
    mistakes = np.zeros((len(direction), _PLACES))
    for before in places_before(fine):
        mistakes += place < before[:, None]
    for before in places_before(fallen):
        mistakes += place >= before[:, None]
    likely = _MISTAKEN ** (mistakes - mistakes.min())
    beyond = np.pad(np.cumsum(likely, axis=1), ((0, 0), (1, 0))) / likely.sum()
    found = beyond[np.arange(len(direction)), places_before(at).astype(np.intp)]
    return np.asarray(1.0 - found.sum(axis=1))


@cache
def _directions(dimensions: int) -> Array:
    """Vectors in all directions alike, shape (directions, dimensions): normal quantiles of Roberts' R sequence."""
    root = 2.0
    for _ in range(64):
        root = (1.0 + root) ** (1.0 / (dimensions + 1))
    steps = np.outer(np.arange(1, _DIRECTIONS + 1), root ** -np.arange(1.0, dimensions + 1.0))
    return np.asarray(ndtri((0.5 + steps) % 1.0))
