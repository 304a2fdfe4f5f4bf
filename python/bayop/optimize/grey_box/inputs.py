"""From settings to the numbers that the models work on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayop.space import FREQ_MHZ, RX_USECS, Knob, Setting, Space, Value

Array: TypeAlias = NDArray[np.float64]

# What a knob on `auto` counts as, when the analytic prior needs a number: adaptive moderation settles near 20 us and
# the governor below the top frequency. The residual process learns the difference.
_AUTO_DELAY_US: Final = 20.0
_AUTO_FREQUENCY_RATIO: Final = 0.85

# The residual process sees ITR-delay on a logarithmic scale that is linear below this delay.
_DELAY_BEND_US: Final = 25.0


@dataclass(frozen=True, slots=True)
class Inputs:
    """n points of the model's input space.

    Attributes:
        delay_us: ITR-delay d, shape (n,).
        frequency: Frequency relative to the highest of the space, f / f_max, shape (n,).
        log_load: Logarithm of the load relative to the problem's, log(q / q0), shape (n,).
        known: Coordinates that the analytic prior explains, scaled to about 0-1, shape (n, a).
        unknown: Coordinates of knobs (and of `auto`) that no prior explains, scaled likewise, shape (n, b).
    """

    delay_us: Array
    frequency: Array
    log_load: Array
    known: Array
    unknown: Array

    def __len__(self) -> int:
        return len(self.delay_us)

    def rows(self, index: NDArray[np.bool_] | NDArray[np.intp]) -> Inputs:
        """The points at `index`."""
        return Inputs(
            self.delay_us[index],
            self.frequency[index],
            self.log_load[index],
            self.known[index],
            self.unknown[index],
        )


class Encoder:
    """Turns settings of one space into `Inputs`."""

    def __init__(self, space: Space) -> None:
        knobs = {k.id: k for k in space.knobs}
        self._delay = knobs.pop(RX_USECS, None)
        self._frequency = knobs.pop(FREQ_MHZ, None)
        self._others = tuple(knobs.values())
        self._top_mhz = max(self._frequency.numbers(), default=1.0) if self._frequency else 1.0
        self._delay_span = (
            float(np.log1p(max(self._delay.numbers(), default=1.0) / _DELAY_BEND_US)) if self._delay else 1.0
        )

    @property
    def explained(self) -> bool:
        """Whether the space has a knob that the analytic prior knows."""
        return bool((self._delay and self._delay.numbers()) or (self._frequency and self._frequency.numbers()))

    def encode(self, settings: Sequence[Setting], log_load: Array) -> Inputs:
        """The inputs of `settings` at loads q with log(q / q0) = `log_load`."""
        delay_us = _numbers(settings, self._delay, _AUTO_DELAY_US)
        frequency = _numbers(settings, self._frequency, _AUTO_FREQUENCY_RATIO * self._top_mhz) / self._top_mhz
        delay = np.log1p(delay_us / _DELAY_BEND_US) / self._delay_span
        others = [_coordinates(settings, knob) for knob in self._others]
        others += [_auto_flags(settings, knob) for knob in (self._delay, self._frequency) if knob and knob.auto]
        return Inputs(
            delay_us=delay_us,
            frequency=frequency,
            log_load=log_load,
            known=np.column_stack([delay, frequency]),
            unknown=np.column_stack(others) if others else np.empty((len(settings), 0)),
        )


def _numbers(settings: Sequence[Setting], knob: Knob | None, auto: float) -> Array:
    if knob is None:
        return np.full(len(settings), auto)
    return np.array([auto if isinstance(value := s[knob.id], str) else float(value) for s in settings])


def _auto_flags(settings: Sequence[Setting], knob: Knob) -> Array:
    return np.array([[float(isinstance(s[knob.id], str))] for s in settings])


def _coordinates(settings: Sequence[Setting], knob: Knob) -> Array:
    """One scaled column for a numeric knob, and one column of 0 or 1 for each of its names (`auto` among them)."""
    numbers = knob.numbers()
    names = [v for v in knob.values() if isinstance(v, str)]
    low, span = (numbers[0], max(numbers[-1] - numbers[0], 1e-9)) if numbers else (0.0, 1.0)

    def coordinate(value: Value) -> list[float]:
        number = [0.5 if isinstance(value, str) else (value - low) / span] if numbers else []
        return number + [float(value == name) for name in names]

    return np.array([coordinate(s[knob.id]) for s in settings])
