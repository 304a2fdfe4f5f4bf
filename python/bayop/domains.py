"""The values that a knob may take, and which of them a person wants searched."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from bayop.catalogue import check_known
from bayop.errors import InputError
from bayop.toml_file import TomlFile, text
from bayop.units import parse_quantity, unit_of

Value: TypeAlias = float | str
"""What a knob is set to: a number in the unit that its id carries, or a word."""

ALL: Final = "all"
"""What stands for every value of a knob in a table of knobs."""

MOST_VALUES: Final = 1_000_000
"""More numbers than any hardware has steps to search: a domain with more can be set, but not listed."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Evenly spaced numbers from `low` to `high`, both included, as hardware steps are.

    Attributes:
        low: The least.
        high: The greatest.
        step: Their distance.
        reserved: Ranges in between, ends included, that a driver keeps for itself: they are no values here.

    Raises:
        InputError: low is above high, or the step is not positive.

    Example:
        >>> from bayop import Steps
        >>> Steps(1300, 2900, 400).values()
        (1300, 1700, 2100, 2500, 2900)
    """

    low: float
    high: float
    step: float
    reserved: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        if not (self.step > 0 and self.low <= self.high and math.isfinite(self.high - self.low)):
            raise InputError(
                "a domain must have low <= high and a positive step", value=(self.low, self.high, self.step)
            )

    def values(self) -> tuple[float, ...]:
        """All numbers of the domain, ascending.

        Raises:
            InputError: there are more than `MOST_VALUES`.
        """
        if self._count > MOST_VALUES:
            raise InputError(
                f"a domain must have at most {MOST_VALUES} values to be searched",
                wrong=f"{self.low:g} to {self.high:g} in steps of {self.step:g} are {self._count} values",
                value=(self.low, self.high, self.step),
                hint="give a range with a wider step, such as nic.rx_usecs=2:1022:2",
            )
        steps = (self._at(i) for i in range(self._count))
        return tuple(step for step in steps if not self._is_reserved(step))

    def spelled(self, value: Value) -> float | None:
        """The value as the domain spells it; None when it is not one of its values."""
        if isinstance(value, str) or not math.isfinite(value):
            return None
        own = self.nearest(value)
        return own if own is not None and (value == own or math.isclose(value, own)) else None

    def nearest(self, value: float) -> float | None:
        """The number of the domain that is nearest to this one, the lower of two; None when all are reserved."""
        place = (min(max(value, self.low), self.high) - self.low) / self.step
        sides = (self._free_from(math.floor(place + 1e-9), -1), self._free_from(math.ceil(place - 1e-9), 1))
        return min((side for side in sides if side is not None), key=lambda side: abs(side - value), default=None)

    def holds(self, value: float) -> bool:
        """Whether the value is one of the domain's, as far as floating point can tell."""
        inside = self.low <= value <= self.high or math.isclose(value, self.low) or math.isclose(value, self.high)
        return inside and _is_multiple(value - self.low, self.step) and not self._is_reserved(value)

    def within(self, chosen: Range) -> Steps | None:
        """The same domain with only the numbers of a range, up to the last that its steps reach.

        None when the range has numbers that are no values here.

        Raises:
            InputError: the range is none.
        """
        steps = replace(self, low=chosen.low, high=chosen.high, step=self.step if chosen.step is None else chosen.step)
        if not (self.holds(steps.low) and steps.high <= self.high and _is_multiple(steps.step, self.step)):
            return None
        return replace(steps, high=steps.last)

    @property
    def last(self) -> float:
        """The greatest number that the steps reach, reserved ones included."""
        return self._at(self._count - 1)

    @property
    def _count(self) -> int:
        """How many numbers there are, reserved ones included."""
        return math.floor((self.high - self.low) / self.step + 1e-9) + 1

    def _at(self, index: int) -> float:
        return _tidy(self.low + index * self.step)

    def _is_reserved(self, value: float) -> bool:
        return any(low <= value <= high for low, high in self.reserved)

    def _free_from(self, index: int, direction: Literal[-1, 1]) -> float | None:
        """The first number from `index` on, upwards or downwards, that is not reserved."""
        while 0 <= index < self._count:
            number = self._at(index)
            ends = [low if direction < 0 else high for low, high in self.reserved if low <= number <= high]
            if not ends:
                return number
            beyond = math.floor((ends[0] - self.low) / self.step)
            index = min(index, beyond + 1) - 1 if direction < 0 else max(index, beyond) + 1
        return None


@dataclass(frozen=True, slots=True)
class Choices:
    """Named or irregular values, in the order given: `('performance', 'power')` or `(1300, 2100, 2900)`.

    Raises:
        InputError: there is none, or one is there twice.

    Example:
        >>> from bayop import Choices
        >>> Choices(("menu", "teo")).values()
        ('menu', 'teo')
    """

    options: tuple[Value, ...]

    def __post_init__(self) -> None:
        if not self.options or len(set(self.options)) != len(self.options):
            raise InputError("a domain must list at least one value, each once", value=self.options)

    def values(self) -> tuple[Value, ...]:
        """All values of the domain."""
        return self.options

    def spelled(self, value: Value) -> Value | None:
        """The value as the domain spells it; None when it is not one of its values."""

        def is_same(own: Value) -> bool:
            return value == own or (
                not isinstance(value, str) and not isinstance(own, str) and math.isclose(value, own)
            )

        return next((own for own in self.options if is_same(own)), None)

    def nearest(self, value: float) -> float | None:
        """The number of the domain that is nearest to this one, the first of two; None when there are only words."""
        numbers = sorted(own for own in self.options if not isinstance(own, str))
        return min(numbers, key=lambda own: abs(own - min(max(value, numbers[0]), numbers[-1])), default=None)

    def within(self, chosen: Range) -> Choices | None:
        """The numbers of a range, ascending; None when it has none of them, or a step: these have no steps."""
        inside = sorted(own for own in self.options if not isinstance(own, str) and chosen.low <= own <= chosen.high)
        return Choices(tuple(inside)) if inside and chosen.step is None else None


@dataclass(frozen=True, slots=True)
class Range:
    """Which of a knob's numbers a person wants searched.

    Attributes:
        low: The least.
        high: The greatest.
        step: Their distance; None for the knob's own.
    """

    low: float
    high: float
    step: float | None = None

    def __str__(self) -> str:
        return ":".join(_written(x) for x in (self.low, self.high, self.step) if x is not None)


@dataclass(frozen=True, slots=True)
class Condition:
    """What one knob is set to while another one matters.

    Attributes:
        knob_id: The knob that decides.
        values: Its values while the other one matters.

    Example:
        >>> from bayop.domains import Condition
        >>> Condition("nic.adaptive_rx", ("off",)).met_by("on")
        False
    """

    knob_id: str
    values: Range | tuple[Value, ...]

    def met_by(self, value: Value) -> bool:
        """Whether the other knob matters while this one has the value."""
        if isinstance(self.values, Range):
            return not isinstance(value, str) and self.values.low <= value <= self.values.high
        return value in self.values

    def __str__(self) -> str:
        """For people, such as `nic.adaptive_rx off`, and as a file has the values."""
        values = str(self.values) if isinstance(self.values, Range) else ", ".join(map(_written, self.values))
        return f"{self.knob_id} {values}"


def parse_condition(knob_id: str, values: str) -> Condition:
    """Reads a word, a number, several of these with commas between them, or `LOW:HIGH`.

    Raises:
        InputError: not of that form, or a number in the wrong unit.
    """
    if ":" in values:
        numbers = parse_range(knob_id, values)
        if numbers.step is not None:
            raise InputError("a condition must be LOW:HIGH, without a step", value=values)
        return Condition(knob_id, numbers)
    words = [word.strip() for word in values.split(",")]
    if not all(words):
        raise InputError("a condition must be a value, values with commas between them, or LOW:HIGH", value=values)
    return Condition(knob_id, tuple(_word_or_number(knob_id, word) for word in words))


def _word_or_number(knob_id: str, word: str) -> Value:
    if not word[0].isdigit():
        return word
    unit = unit_of(knob_id)
    try:
        return parse_quantity(word, unit) if unit else _tidy(float(word))
    except ValueError:
        raise InputError("a condition must be made of words and numbers", value=word) from None


def _written(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:.10g}"


def parse_range(knob_id: str, numbers: str) -> Range:
    """Reads `LOW:HIGH` or `LOW:HIGH:STEP`, with units where people write them: `0:1ms:20us`.

    Raises:
        InputError: not of that form, or a number in the wrong unit.
    """
    parts = numbers.split(":")
    if not 2 <= len(parts) <= 3:
        raise InputError("a range must be LOW:HIGH or LOW:HIGH:STEP", value=numbers, hint="such as 0:1000:20")
    unit = unit_of(knob_id)
    try:
        low, high, *step = [parse_quantity(part, unit) if unit else float(part) for part in parts]
    except ValueError:
        raise InputError("a range must be made of numbers", value=numbers) from None
    if not low <= high or (step and not step[0] > 0):
        raise InputError("a range must have LOW <= HIGH and a positive STEP", value=numbers)
    return Range(low, high, *step)


def read_ranges(file: TomlFile, table: str) -> dict[str, Range | None]:
    """What of each knob is searched by a table such as `"nic.rx_usecs" = "0:400:10"`; None for all of it.

    Raises:
        InputError: a knob is unknown, or its value is neither a range nor `ALL`.
    """
    knobs = by_knob(file, table)
    return {k: file.at(table, k, lambda k=k, v=v: _range_of(k, v)) for k, v in knobs.items()}  # type: ignore[misc]


def by_knob(file: TomlFile, table: str) -> dict[str, Any]:
    """The values of a table by knob, as they stand there.

    Raises:
        InputError: a knob's id is not in quotes.
    """
    knobs = file.table(table)
    for id_, value in knobs.items():
        if isinstance(value, dict) and "." not in id_:
            name = f"{id_}.{next(iter(value), '')}"
            place = file.place(table, name)
            raise InputError("a knob's id must be in quotes", value=name, place=place, hint=f'"{name}" = ...')
    return knobs


def _range_of(knob_id: str, value: object) -> Range | None:
    check_known(knob_id)
    return None if text(value) == ALL else parse_range(knob_id, text(value))


def _is_multiple(value: float, step: float) -> bool:
    return abs(value / step - round(value / step)) < 1e-6


def _tidy(value: float) -> float:
    """Integers as integers, so that a setting prints and compares as people write it."""
    return int(value) if float(value).is_integer() else round(value, 9)
