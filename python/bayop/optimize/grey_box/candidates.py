"""The settings among which the next trial is chosen.

A space can have a hundred thousand settings, of which neighbours hardly differ. The model looks at an even selection
first, and then at every setting around the one that it likes best.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from types import MappingProxyType
from typing import Final

import numpy as np

from bayop.space import Knob, Setting, Space, Value

_MOST: Final = 1000
_MOST_AROUND: Final = 10_000
_FEWEST_VALUES: Final = 4


class Candidates:
    """A selection of a space's settings.

    Args:
        space: All settings.
        most: Knobs lose values until no more settings than this are left (or every knob has few values).
    """

    def __init__(self, space: Space, *, most: int = _MOST) -> None:
        self._space = space
        self._all = [knob.values() for knob in space.knobs]
        counts = _reduced([len(v) for v in self._all], [len(k.numbers()) for k in space.knobs], most)
        self._coarse = [_thinned(knob, count) for knob, count in zip(space.knobs, counts, strict=True)]
        self.settings = self._product(self._coarse)

    def around(self, setting: Setting) -> list[Setting]:
        """Every setting between the selected neighbours of `setting`, or an even selection where these are very many.

        `setting` is among them; it is alone where none was left out.
        """
        ranges = [
            _between(values, coarse, setting[knob.id])
            for knob, values, coarse in zip(self._space.knobs, self._all, self._coarse, strict=True)
        ]
        counts = _reduced([len(v) for v in ranges], [len(v) for v in ranges], _MOST_AROUND)
        own = [setting[knob_id] for knob_id in self._space.ids]
        return self._product([_spread(v, n, value) for v, n, value in zip(ranges, counts, own, strict=True)])

    def _product(self, values: Sequence[Sequence[Value]]) -> list[Setting]:
        ids = self._space.ids
        return [MappingProxyType(dict(zip(ids, point, strict=True))) for point in product(*values)]


def _reduced(counts: list[int], numeric: list[int], most: int) -> list[int]:
    """How many values each knob keeps; the knob with the most numbers gives way first."""
    counts = list(counts)
    while math.prod(counts) > most:
        widest = max(range(len(counts)), key=lambda i: counts[i] if numeric[i] else 0)
        if not numeric[widest] or counts[widest] <= _FEWEST_VALUES:
            break
        counts[widest] = max(int(0.8 * counts[widest]), _FEWEST_VALUES)
    return counts


def _thinned(knob: Knob, count: int) -> list[Value]:
    """`count` of the knob's values: both ends, and numbers that grow with their size in between."""
    values, numbers = knob.values(), knob.numbers()
    if count >= len(values):
        return list(values)
    names = [v for v in values if isinstance(v, str)]
    # Linear below a tenth of the range, logarithmic above: what counts of a delay is its share of the latency.
    offset = np.array(numbers) - numbers[0]
    scale = np.log1p(offset / max(offset[-1] / 10.0, 1e-9))
    positions = np.linspace(0.0, scale[-1], max(count - len(names), 2))
    indices = sorted({int(np.abs(scale - w).argmin()) for w in positions})
    return [*(numbers[i] for i in indices), *names]


def _between(values: Sequence[Value], coarse: Sequence[Value], value: Value) -> list[Value]:
    if isinstance(value, str) or len(coarse) == len(values):
        return [value]
    numbers = [v for v in coarse if not isinstance(v, str)]
    below = max((n for n in numbers if n < value), default=value)
    above = min((n for n in numbers if n > value), default=value)
    return [v for v in values if not isinstance(v, str) and (below < v < above or v == value)]


def _spread(values: Sequence[Value], count: int, value: Value) -> list[Value]:
    """`count` of the values, evenly, and `value`."""
    if count >= len(values):
        return list(values)
    indices = {round(i * (len(values) - 1) / (count - 1)) for i in range(count)} | {values.index(value)}
    return [values[i] for i in sorted(indices)]
