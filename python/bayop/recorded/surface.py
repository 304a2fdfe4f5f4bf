"""Measured quantities between the settings that were measured: log-bilinear over a complete grid."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from bayop.errors import InputError

Point = tuple[float, float]


class Surface:
    """Mean measured quantities over a rectangular grid of (x, y) points.

    Repeats at a point are averaged; between the points the logarithm is interpolated bilinearly.

    Args:
        samples: Pairs of a point and the quantities measured there; any number of repeats, in any order.

    Raises:
        InputError: there is no complete grid with at least two values on each axis.
    """

    def __init__(self, samples: Iterable[tuple[Point, Mapping[str, float]]]) -> None:
        cells: dict[Point, list[Mapping[str, float]]] = defaultdict(list)
        for point, quantities in samples:
            cells[point].append(quantities)
        self.xs, self.ys = complete_grid(set(cells))
        if len(self.xs) < 2 or len(self.ys) < 2:
            raise InputError(
                "a study target must have a complete grid of at least two ITR-delays by two frequencies",
                value=f"{len(self.xs)} x {len(self.ys)}",
            )
        grid = [cells[x, y] for x in self.xs for y in self.ys]
        self.names = tuple(sorted(set.intersection(*(set(q) for repeats in grid for q in repeats))))
        means = [[math.log(statistics.fmean(q[name] for q in repeats)) for name in self.names] for repeats in grid]
        self._log: NDArray[np.float64] = np.array(means).reshape(len(self.xs), len(self.ys), len(self.names))

    def at(self, x: float, y: float) -> dict[str, float]:
        """Every quantity at a point inside the grid.

        Raises:
            InputError: the point lies outside.
        """
        i, s = _bracket(self.xs, x)
        j, t = _bracket(self.ys, y)
        corners = self._log[i : i + 2, j : j + 2]
        weights = np.outer([1 - s, s], [1 - t, t])
        values = np.exp(np.tensordot(weights, corners, axes=2))
        return dict(zip(self.names, map(float, values), strict=True))


def complete_grid(points: set[Point]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The axes of a complete sub-grid: the axis value with most missing points goes until none is missing.

    The same rule as the published scoring of tuners; ties drop the largest value, of the second axis first.
    """
    xs, ys = sorted({x for x, _ in points}), sorted({y for _, y in points})
    while xs and ys:
        gaps = [(sum((x, y) not in points for y in ys) / len(ys), 0, x) for x in xs]
        gaps += [(sum((x, y) not in points for x in xs) / len(xs), 1, y) for y in ys]
        share, axis, value = max(gaps)
        if share == 0:
            break
        (ys if axis else xs).remove(value)
    return tuple(xs), tuple(ys)


def _bracket(axis: tuple[float, ...], value: float) -> tuple[int, float]:
    """Index of the interval that holds `value`, and how far into it the value lies (0-1)."""
    if not axis[0] - 1e-6 <= value <= axis[-1] + 1e-6:
        raise InputError(f"a setting must lie inside the study's grid, {axis[0]:g} to {axis[-1]:g}", value=value)
    i = min(max(int(np.searchsorted(axis, value)) - 1, 0), len(axis) - 2)
    return i, (value - axis[i]) / (axis[i + 1] - axis[i])
