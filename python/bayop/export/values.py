"""What files and ethtool are told of a knob's value: its exact text, or why there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from bayop.domains import Value
from bayop.errors import InputError, guess
from bayop.export.places import id_of
from bayop.space import format_value
from bayop.study.schema import ASKED, Column, column_of, either

if TYPE_CHECKING:
    from bayop._core import KnobSpelling

_SWITCH: Final = ("off", "on")
"""What ethtool takes where it takes no number."""
_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "cpu.epp": ("default", "performance", "balance_performance", "balance_power", "power"),
    "idle.governor": ("menu", "teo", "ladder", "haltpoll", "bayop"),
}
"""All words that a machine may offer: Linux's (Documentation/admin-guide/pm/{intel_pstate,amd-pstate,cpuidle}.rst), and
the governor of kernel/."""


def text_of(knob: str, value: Value, spelling: KnobSpelling) -> str:
    """The value as files and ethtool take it: a whole number in their unit, or a word.

    Which knobs have numbers, and which numbers some machine may have, is what a study's columns say of the catalogue's
    knobs. Narrower bounds are those of the machine that the export is for, which isn't here to be asked.

    Args:
        knob: With its place, for errors: `nic.rx_usecs@eth0`.
        value: A number in the unit that the knob's id carries, or a word; not `auto`.
        spelling: The catalogue's.

    Raises:
        InputError: no machine has such a value, or it has more digits than files and ethtool take.
    """
    knob_id, words = id_of(knob), spelling["words"]
    column = column_of(ASKED + knob_id)
    try:
        if column.kind == "number" and value not in words:
            own = _whole(knob_id, value, column, spelling)
        else:
            own = _word(knob_id, value, tuple(words) or _WORDS.get(knob_id, _SWITCH))
    except InputError as error:
        raise error.at(knob) from error
    return words.get(own, own)


def _whole(knob_id: str, value: Value, column: Column, spelling: KnobSpelling) -> str:
    if isinstance(value, str):
        number = "a number" if column.unit == "count" else f"a number in {column.unit}"
        takes = [number, *(word for word in spelling["words"] if not word.isdecimal())]
        raise InputError(f"{knob_id} must be {' or '.join(takes)}", value=value, hint="auto leaves it to the machine")
    shown = format_value(knob_id, value)
    if not column.low <= value <= column.high:
        low, high = (format_value(knob_id, bound) for bound in (column.low, column.high))
        raise InputError(f"{knob_id} must lie between {low} and {high}", value=shown)
    factor = spelling["factor"] or 1
    steps = round(value * factor)
    if not math.isclose(steps, value * factor):
        step, nearest = (format_value(knob_id, count / factor) for count in (1, steps))
        raise InputError(f"{knob_id} must be a multiple of {step}", value=shown, hint=f"the nearest is {nearest}")
    return str(steps)


def _word(knob_id: str, value: Value, words: tuple[str, ...]) -> str:
    own = format_value(knob_id, value)
    if own not in words:
        hint = guess(own, words) or "auto leaves it to the machine"
        raise InputError(f"{knob_id} must be {either(words)}", value=own, hint=hint)
    return own
