"""Which settings a sweep measures: a grid over the space, or points that fill it evenly.

A design is made of the space's own values, so every setting can be applied as it is, and each is there once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import Final, TypeAlias

from bayop.domains import Range, Value
from bayop.errors import InputError
from bayop.space import AUTO, Knob, Setting, Space, evenly

Axes: TypeAlias = Mapping[str, tuple[Value, ...]]
"""The values of each knob, by knob id, in the order of the space."""

POINTS: Final = 12
"""Values of each knob in a grid where nobody says; a knob that has fewer shows all."""

MOST_SETTINGS: Final = 100_000
"""The most settings of one sweep; beyond that, a grid is a slip of the pen."""

# A Sobol sequence visits a small space's last settings late: after so many points for each, the rest is listed.
_POINTS_A_SETTING: Final = 16


def axes(
    space: Space,
    choices: Mapping[str, Range | Sequence[str]],
    *,
    points: int | None = None,
    with_auto: bool = False,
) -> Axes:
    """The values that each knob of a design takes.

    Args:
        space: What the target can be set to.
        choices: For some knobs, the numbers of a range or a list of values as people type them.
        points: Values of a knob for which neither a list nor a range with a step was chosen, evenly spaced over the
            hardware's steps; None for all of them.
        with_auto: Whether every knob that can be is also left to the operating system.

    Raises:
        InputError: what was chosen is of another knob, or not among its values.
    """
    for knob_id in choices:
        space[knob_id]
    return MappingProxyType({k.id: _axis(k, choices.get(k.id), points, with_auto=with_auto) for k in space.knobs})


def grid(axes: Axes) -> list[Setting]:
    """Every combination of the axes' values, the last knob varying fastest.

    Raises:
        InputError: there are more than `MOST_SETTINGS`.
    """
    settings = math.prod(len(values) for values in axes.values())
    if settings > MOST_SETTINGS:
        raise InputError(
            f"a sweep must have at most {MOST_SETTINGS} settings",
            value=settings,
            hint="fewer points or shorter lists of values, or the design sobol",
        )
    return list(_combinations(axes))


def fill(axes: Axes, settings: int, *, seed: int) -> list[Setting]:
    """Distinct settings that fill the axes evenly: a scrambled Sobol sequence, each point on the nearest setting.

    Every value of a knob stands for an equal share of the unit interval, so that the projection on each knob is even
    as well.

    Args:
        axes: The values to choose from.
        settings: How many.
        seed: The same seed gives the same settings in the same order.

    Raises:
        InputError: the axes do not have as many settings.
    """
    there_are = math.prod(len(values) for values in axes.values())
    if not 1 <= settings <= min(there_are, MOST_SETTINGS):
        rule = f"a design must have at least one setting and at most the space's {min(there_are, MOST_SETTINGS)}"
        raise InputError(rule, value=settings)
    tuples: dict[tuple[Value, ...], None] = {}
    for point in _sobol_points(len(axes), most=_POINTS_A_SETTING * there_are, seed=seed):
        tuples.setdefault(tuple(v[int(u * len(v))] for u, v in zip(point, axes.values(), strict=True)))
        if len(tuples) == settings:
            break
    else:
        for setting in _combinations(axes):
            if len(tuples) < settings:
                tuples.setdefault(tuple(setting.values()))
    return [MappingProxyType(dict(zip(axes, values, strict=True))) for values in tuples]


def _axis(
    knob: Knob, choice: Range | Sequence[str] | None, points: int | None, *, with_auto: bool
) -> tuple[Value, ...]:
    if choice is not None and not isinstance(choice, Range):
        options = tuple(dict.fromkeys(knob.parse(text.strip()) for text in choice))
        return (*options, AUTO) if with_auto and knob.auto and AUTO not in options else options
    narrowed = knob if choice is None else knob.within(choice)
    values = narrowed.domain.values()
    if points is not None and (choice is None or choice.step is None):
        values = tuple(evenly(values, points))
    return (*values, AUTO) if with_auto and knob.auto else values


def _combinations(axes: Axes) -> Iterator[Setting]:
    return (MappingProxyType(dict(zip(axes, values, strict=True))) for values in product(*axes.values()))


def _sobol_points(dimensions: int, *, most: int, seed: int) -> Iterator[Sequence[float]]:
    """Points of the unit cube, in batches that double: only powers of two of them are balanced."""
    from scipy.stats.qmc import Sobol

    sequence = Sobol(dimensions, scramble=True, seed=seed)
    exponent, count = 5, 0
    while count < most:
        batch = sequence.random_base2(exponent)
        count += len(batch)
        exponent += count > len(batch)
        yield from batch.tolist()
