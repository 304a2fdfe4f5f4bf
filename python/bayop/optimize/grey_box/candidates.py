"""The settings among which the next trial is chosen.

A space can have more settings than memory, of which neighbours hardly differ. With few knobs the model looks at an
even selection first, and then at every setting around the one that it likes best. With many it looks at points that
fill the space evenly (Sobol' 1967) and at what lies around the settings that matter, one and two knobs at a time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import combinations, product
from types import MappingProxyType
from typing import Final

import numpy as np

from bayop.domains import Value
from bayop.space import Knob, Setting, Space, evenly, setting_key

_MOST: Final = 1000
_MOST_AROUND: Final = 2000
_FEWEST_VALUES: Final = 4
_SOBOL_EXPONENT: Final = 9
_MOVES: Final = 12
_PAIRED_MOVES: Final = 5


class Candidates:
    """A selection of a space's settings.

    Args:
        space: All settings.
        most: Knobs lose values until no more settings than this are left (or every knob has few values).
    """

    def __init__(self, space: Space, *, most: int = _MOST) -> None:
        self._space = space
        self._ids = space.ids
        self._all = [knob.values() for knob in space.knobs]
        self._numbers = [knob.numbers() for knob in space.knobs]
        counts = _reduced([len(v) for v in self._all], [len(k.numbers()) for k in space.knobs], most)
        self._coarse = [_thinned(knob, count) for knob, count in zip(space.knobs, counts, strict=True)]
        self._is_grid = math.prod(len(v) for v in self._coarse) <= most
        self.settings = self._product(self._coarse) if self._is_grid else self._filling()

    def near(self, settings: Sequence[Setting]) -> list[Setting]:
        """Where the selection fills the space thinly: what differs from `settings` in one or two knobs."""
        if self._is_grid:
            return []
        moves = {setting_key(s): s for setting in settings for s in self._moved(setting)}
        return self._space.each_once(moves.values())

    def around(self, setting: Setting) -> list[Setting]:
        """Every setting between the selected neighbours of `setting`, or an even selection where these are very many.

        `setting` is among them; it is alone where none was left out.
        """
        if not self._is_grid:
            return self._space.each_once(self._moved(setting))
        ranges = [
            _between(values, coarse, setting[knob.id])
            for knob, values, coarse in zip(self._space.knobs, self._all, self._coarse, strict=True)
        ]
        counts = _reduced([len(v) for v in ranges], [len(v) for v in ranges], _MOST_AROUND)
        own = [setting[knob_id] for knob_id in self._ids]
        return self._product([_spread(v, n, value) for v, n, value in zip(ranges, counts, own, strict=True)])

    def _product(self, values: Sequence[Sequence[Value]]) -> list[Setting]:
        return self._space.each_once(self._setting(point) for point in product(*values))

    def _setting(self, values: Sequence[Value]) -> Setting:
        return MappingProxyType(dict(zip(self._ids, values, strict=True)))

    def _filling(self) -> list[Setting]:
        from scipy.stats.qmc import Sobol

        thinned = [_thinned(k, max(_MOVES, len(k.values()) - len(k.numbers()) + 2)) for k in self._space.knobs]
        points = Sobol(len(thinned), scramble=False).random_base2(_SOBOL_EXPONENT)
        chosen = [[values[int(x * len(values))] for values, x in zip(thinned, point, strict=True)] for point in points]
        return self._space.each_once({setting_key(s): s for s in map(self._setting, chosen)}.values())

    def _moved(self, setting: Setting) -> list[Setting]:
        """`setting`, and what a move of one knob, or of two knobs a little, makes of it."""
        own = [setting[knob_id] for knob_id in self._ids]
        moved: list[list[Value]] = [own]
        for i in range(len(own)):
            moved += [[*own[:i], value, *own[i + 1 :]] for value in self._moves(i, own[i], _MOVES)]
        few = [self._moves(i, own[i], _PAIRED_MOVES) for i in range(len(own))]
        for i, j in combinations(range(len(own)), 2):
            for a, b in product(few[i], few[j]):
                values = list(own)
                values[i], values[j] = a, b
                moved.append(values)
        return [self._setting(values) for values in moved]

    def _moves(self, index: int, value: Value, count: int) -> list[Value]:
        """About `count` other values of one knob: its next neighbours, some further out, both ends and all names."""
        numbers = self._numbers[index]
        names = [v for v in self._all[index] if isinstance(v, str) and v != value]
        if isinstance(value, str) or value not in numbers:
            spread = np.linspace(0, len(numbers) - 1, min(count, len(numbers))).tolist()
            return [*(numbers[round(i)] for i in spread), *names]
        here = numbers.index(value)
        steps = _steps(len(numbers) - 1, count // 2)
        places = {min(max(here + sign * step, 0), len(numbers) - 1) for step in steps for sign in (-1, 1)}
        return [*(numbers[i] for i in sorted(places - {here})), *names]


@cache
def _steps(longest: int, count: int) -> tuple[int, ...]:
    """Steps that double or so: near and far alike."""
    return tuple(round(step) for step in np.geomspace(1.0, max(longest, 1), max(count, 1)).tolist())


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
    indices = {*evenly(range(len(values)), count), values.index(value)}
    return [values[i] for i in sorted(indices)]
