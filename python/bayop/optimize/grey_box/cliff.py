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
    groups = [np.column_stack([points.known, points.unknown]) for points in (at, fine, fallen)]
    # Of a knob that the space does not have the coordinate is the same everywhere, and any number.
    varies = np.ptp(np.vstack(groups), axis=0) > 0.0
    where, near, beyond_it = (group[:, varies] for group in groups)
    direction = _directions(int(varies.sum()))
    # Coordinates lie between 0 and 1; places are shares of the way from where a direction enters that cube.
    entry, way = np.minimum(direction, 0.0).sum(axis=1), np.maximum(np.abs(direction).sum(axis=1), 1e-9)

    def places_before(points: Array) -> Array:
        """For each point and direction, how many places a point is beyond, shape (points, directions)."""
        share = (points @ direction.T - entry) / way
        return np.asarray(np.clip(np.rint(_PLACES * share), 0, _PLACES))

    place = np.arange(_PLACES)
    mistakes = np.zeros((len(direction), _PLACES))
    for before in places_before(near):
        mistakes += place < before[:, None]
    for before in places_before(beyond_it):
        mistakes += place >= before[:, None]
    likely = _MISTAKEN ** (mistakes - mistakes.min())
    beyond = np.pad(np.cumsum(likely, axis=1), ((0, 0), (1, 0))) / likely.sum()
    found = beyond[np.arange(len(direction)), places_before(where).astype(np.intp)]
    return np.asarray(1.0 - found.sum(axis=1))


@cache
def _directions(dimensions: int) -> Array:
    """Vectors in all directions alike, shape (directions, dimensions): normal quantiles of Roberts' R sequence."""
    root = 2.0
    for _ in range(64):
        root = (1.0 + root) ** (1.0 / (dimensions + 1))
    steps = np.outer(np.arange(1, _DIRECTIONS + 1), root ** -np.arange(1.0, dimensions + 1.0))
    return np.asarray(ndtri((0.5 + steps) % 1.0))
