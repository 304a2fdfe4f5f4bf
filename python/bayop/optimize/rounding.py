"""What a driver makes of the values that it is asked for, as far as trials have shown it."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from bayop.domains import Value
from bayop.space import Setting

_BEYOND: Final = 0.5
"""How much further than seen a step of a driver is believed to reach, relative to what was seen of it."""


class Rounding:
    """Remembers what was asked and what came into effect, knob by knob.

    Drivers round and clamp, and both are monotone: when 64 us had the effect of 50, every value in between has it too,
    and a little more of them is likely to. Without this a search would ask for 64 us again and again, because less
    power is always promised just beyond what was tried; without the little more, it would creep up on the driver's
    next step one value at a time.
    """

    def __init__(self) -> None:
        self._effective: dict[str, dict[float, float]] = {}
        self.is_exact = True
        """Whether everything came into effect as it was asked for."""

    def learn(self, asked: Setting, effective: Setting) -> None:
        """Takes in one trial."""
        for knob_id, value in effective.items():
            request = asked[knob_id]
            if not isinstance(request, str) and not isinstance(value, str):
                self._effective.setdefault(knob_id, {})[request] = value
                self.is_exact &= request == value

    def of(self, setting: Setting) -> Setting:
        """What is expected to be in effect when `setting` is asked for."""
        if self.is_exact:
            return setting
        return MappingProxyType({knob_id: self._rounded(knob_id, value) for knob_id, value in setting.items()})

    def _rounded(self, knob_id: str, value: Value) -> Value:
        effects = self._effective.get(knob_id, {})
        if isinstance(value, str):
            return value
        if value in effects:
            return effects[value]
        steps = [(asked, effective) for asked, effective in effects.items() if asked != effective]
        # What was seen comes before what is only likely.
        for reach in (1.0, 1.0 + _BEYOND):
            for asked, effective in steps:
                if 0.0 <= (value - effective) / (asked - effective) <= reach:
                    return effective
        return value
