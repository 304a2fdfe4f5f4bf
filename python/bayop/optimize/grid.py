"""Grid search: what people do by hand."""

from __future__ import annotations

import math
from itertools import product
from types import MappingProxyType
from typing import Final

from bayop.domains import Value
from bayop.optimize.base import Problem
from bayop.optimize.measured import MeasuredSearch
from bayop.space import Knob, Setting, evenly

# The most settings that one grid lists; a finer grid than this is beyond any budget of trials.
_MOST_SETTINGS: Final = 100_000


class GridSearch(MeasuredSearch):
    """An even grid over the whole space, sized to the trial budget, from the safest setting outwards.

    The first ask tells the budget; the grid is the largest that fits, with both ends of every knob on it (15 trials
    over two knobs make 5 x 3). If trials are left when it is done, the next finer grid that has untried settings
    follows, and so on until every setting was tried. Nothing is random and nothing is learned.

    Args:
        problem: What to search for.
        seed: Ignored: there is nothing random about a grid.
    """

    def __init__(self, problem: Problem, *, seed: int) -> None:  # noqa: ARG002 -- every optimizer takes a seed
        super().__init__(problem)
        self._values = [_safest_first(knob) for knob in problem.space.knobs]
        self._counts: list[int] = []
        self._queue: list[Setting] = []

    def choose(self, trials_left: int) -> Setting | None:
        """The safest untried setting of the grid, of the next finer one when all of it was tried."""
        if not self._counts:
            self._counts = self._largest_grid(trials_left)
            self._queue = self._settings()
        while True:
            self._queue = [s for s in self._queue if not self.was_tried(s)]
            if self._queue:
                return self._queue[0]
            finer = self._refine(self._counts, _MOST_SETTINGS)
            if finer is None:
                return None
            self._counts = finer
            self._queue = self._settings()

    def _largest_grid(self, most: int) -> list[int]:
        counts: list[int] | None = [1] * len(self._values)
        largest = [1] * len(self._values)
        while counts is not None:
            largest, counts = counts, self._refine(counts, most)
        return largest

    def _refine(self, counts: list[int], most: int) -> list[int] | None:
        """One more value on the knob that has fewest, if there is one whose grid has at most `most` settings."""
        for i in sorted(range(len(counts)), key=counts.__getitem__):
            finer = [n + (i == j) for j, n in enumerate(counts)]
            if finer[i] <= len(self._values[i]) and math.prod(finer) <= most:
                return finer
        return None

    def _settings(self) -> list[Setting]:
        """The settings of the grid, by how far they are from the safest one."""
        axes = [evenly(range(len(values)), n) for values, n in zip(self._values, self._counts, strict=True)]
        far = [max(len(values) - 1, 1) for values in self._values]
        points = sorted(product(*axes), key=lambda point: sum(i / n for i, n in zip(point, far, strict=True)))
        space = self.problem.space
        return space.each_once(
            MappingProxyType({k: values[i] for k, values, i in zip(space.ids, self._values, point, strict=True)})
            for point in points
        )


def _safest_first(knob: Knob) -> tuple[Value, ...]:
    """The knob's values from the safest to the riskiest; as listed where nobody knows. `auto` comes last."""
    if knob.safest is None:
        return knob.values()
    numbers = knob.numbers() if knob.safest == "low" else knob.numbers()[::-1]
    others = [v for v in knob.values() if isinstance(v, str)]
    return (*numbers, *others)
