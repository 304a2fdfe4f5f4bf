"""Measured quantities between the settings that were measured: log-linear along each knob, over a complete grid."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import reduce
from itertools import product

import numpy as np
from numpy.typing import NDArray

from bayop.errors import InputError

Point = tuple[float, ...]
Axes = tuple[tuple[float, ...], ...]


class Surface:
    """Mean measured quantities over a rectangular grid of points, which have a coordinate for every knob.

    Repeats at a point are averaged; between the points the logarithm is interpolated linearly along each axis.

    Args:
        samples: Pairs of a point and the quantities measured there; any number of repeats, in any order.

    Raises:
        InputError: there is no complete grid with at least two values on each axis.
    """

    def __init__(self, samples: Iterable[tuple[Point, Mapping[str, float]]]) -> None:
        cells: dict[Point, list[Mapping[str, float]]] = defaultdict(list)
        for point, quantities in samples:
            cells[point].append(quantities)
        self.axes = complete_grid(set(cells))
        if not self.axes or any(len(axis) < 2 for axis in self.axes):
            raise InputError(
                "a study target must have a complete grid of at least two values of every knob",
                value=" x ".join(str(len(axis)) for axis in self.axes) or "no trial",
            )
        grid = [cells[point] for point in product(*self.axes)]
        self.names = tuple(sorted(set.intersection(*(set(q) for repeats in grid for q in repeats))))
        means = [[math.log(statistics.fmean(q[name] for q in repeats)) for name in self.names] for repeats in grid]
        shape = (*(len(axis) for axis in self.axes), len(self.names))
        self._log: NDArray[np.float64] = np.array(means).reshape(shape)

    def at(self, point: Point) -> dict[str, float]:
        """Every quantity at a point inside the grid.

        Raises:
            InputError: the point lies outside.
        """
        brackets = [_bracket(axis, value) for axis, value in zip(self.axes, point, strict=True)]
        corners = self._log[tuple(slice(i, i + 2) for i, _ in brackets)]
        weights = reduce(np.multiply.outer, (np.array([1 - share, share]) for _, share in brackets))
        values = np.exp(np.tensordot(weights, corners, axes=len(brackets)))
        return dict(zip(self.names, map(float, values), strict=True))


def complete_grid(points: set[Point]) -> Axes:
    """The axes of a complete sub-grid: the axis value with most missing points goes until none is missing.

    The same rule as the published scoring of tuners; ties drop the largest value, of the last axis first.
    """
    axes = [sorted(set(values)) for values in zip(*points, strict=True)]
    while axes and all(axes):
        whole = math.prod(len(axis) for axis in axes)
        inside = [p for p in points if all(value in axis for value, axis in zip(p, axes, strict=True))]
        if len(inside) == whole:
            break
        counts = [Counter(point[n] for point in inside) for n in range(len(axes))]
        gaps = [(1.0 - counts[n][value] * len(axis) / whole, n, value) for n, axis in enumerate(axes) for value in axis]
        _, n, value = max(gaps)
        axes[n].remove(value)
    return tuple(tuple(axis) for axis in axes)


def _bracket(axis: tuple[float, ...], value: float) -> tuple[int, float]:
    """Index of the interval that holds `value`, and how far into it the value lies (0-1)."""
    if not axis[0] - 1e-6 <= value <= axis[-1] + 1e-6:
        raise InputError(f"a setting must lie inside the study's grid, {axis[0]:g} to {axis[-1]:g}", value=value)
    i = min(max(int(np.searchsorted(axis, value)) - 1, 0), len(axis) - 2)
    return i, (value - axis[i]) / (axis[i + 1] - axis[i])
