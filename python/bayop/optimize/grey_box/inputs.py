"""From settings to the numbers that the models work on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayop.domains import Value
from bayop.slo import Slo
from bayop.space import FREQ_MHZ, QUEUES, RX_USECS, Knob, Setting, Space, fastest_setting

Array: TypeAlias = NDArray[np.float64]

# The delay that decides something about a service is a share of its SLO's limit, unless its NIC can't wait that long.
_OF_LIMIT: Final = 0.2
_OF_LONGEST: Final = 0.15

# What a knob on `auto` counts as, when the analytic prior needs a number: adaptive moderation settles well below the
# typical delay, and the governor below the top frequency. The residual process learns the difference.
_AUTO_DELAY: Final = 0.4
_AUTO_FREQUENCY_RATIO: Final = 0.85

# The residual process sees ITR-delay on a logarithmic scale that is linear below this share of the typical delay.
_DELAY_BEND: Final = 0.5


def typical_delay_us(space: Space, slo: Slo) -> float:
    """The order of the delays that a search is about; what scales the latency and the delays scales it, too."""
    delays = next((k.numbers() for k in space.knobs if k.id == RX_USECS), ())
    of_limit = _OF_LIMIT * slo.limit_us
    return min(of_limit, _OF_LONGEST * max(delays)) if len(delays) > 1 else of_limit


@dataclass(frozen=True, slots=True)
class Inputs:
    """n points of the model's input space.

    Attributes:
        delay_us: ITR-delay d, shape (n,).
        frequency: Frequency relative to the highest of the space, f / f_max, shape (n,).
        serving: Share of the queues, and so of the cores, that serve, shape (n,).
        log_load: Logarithm of the load relative to the problem's, log(q / q0), shape (n,).
        known: Coordinates of the knobs that the analytic prior explains, scaled to about 0-1, shape (n, a).
        unknown: Coordinates of knobs (and of `auto`) that no prior explains, scaled likewise, shape (n, b).
        fastest: Those of the fastest setting, shape (b,); needed where there are such knobs.
    """

    delay_us: Array
    frequency: Array
    serving: Array
    log_load: Array
    known: Array
    unknown: Array
    fastest: Array = field(default_factory=lambda: np.empty(0))

    def __len__(self) -> int:
        return len(self.delay_us)

    @property
    def coordinates(self) -> Array:
        """All of them, shape (n, a + b)."""
        return np.column_stack([self.known, self.unknown])

    def rows(self, index: NDArray[np.bool_] | NDArray[np.intp]) -> Inputs:
        """The points at `index`."""
        return Inputs(
            self.delay_us[index],
            self.frequency[index],
            self.serving[index],
            self.log_load[index],
            self.known[index],
            self.unknown[index],
            self.fastest,
        )


class Encoder:
    """Turns settings of one space into `Inputs`.

    Args:
        space: The knobs.
        typical_delay_us: See the function of that name.
    """

    def __init__(self, space: Space, typical_delay_us: float) -> None:
        knobs = {k.id: k for k in space.knobs}
        self._delay = knobs.pop(RX_USECS, None)
        self._frequency = knobs.pop(FREQ_MHZ, None)
        self._queues = knobs.get(QUEUES)
        self._space = space
        self._others = tuple(_Axis(knob) for knob in knobs.values())
        self._auto_delay_us = _AUTO_DELAY * typical_delay_us
        self._bend_us = _DELAY_BEND * typical_delay_us
        self._top_mhz = _highest(self._frequency)
        self._most_queues = _highest(self._queues)
        self._delay_span = float(np.log1p(_highest(self._delay) / self._bend_us))
        self._fastest = self._unknown([fastest_setting(space)])[0]

    @property
    def explained(self) -> bool:
        """Whether the space has a knob that the analytic prior knows."""
        return any(knob and knob.numbers() for knob in (self._delay, self._frequency, self._queues))

    def encode(self, settings: Sequence[Setting], log_load: Array) -> Inputs:
        """The inputs of `settings` at loads q with log(q / q0) = `log_load`; what does not matter is as one."""
        if self._space.is_conditional:
            settings = [self._space.in_effect(setting) for setting in settings]
        delay_us = _numbers(settings, self._delay, self._auto_delay_us)
        frequency = _numbers(settings, self._frequency, _AUTO_FREQUENCY_RATIO * self._top_mhz) / self._top_mhz
        known = [
            coordinate
            for knob, coordinate in (
                (self._delay, np.log1p(delay_us / self._bend_us) / self._delay_span),
                (self._frequency, frequency),
            )
            if knob is not None and knob.numbers()
        ]
        return Inputs(
            delay_us=delay_us,
            frequency=frequency,
            serving=_numbers(settings, self._queues, self._most_queues) / self._most_queues,
            log_load=log_load,
            known=np.column_stack(known) if known else np.empty((len(settings), 0)),
            unknown=self._unknown(settings),
            fastest=self._fastest,
        )

    def _unknown(self, settings: Sequence[Setting]) -> Array:
        """Coordinates of what no prior explains, from the low ends of the domains on, shape (n, b)."""
        columns = [axis.coordinates(settings) for axis in self._others]
        columns += [_auto_flags(settings, knob) for knob in (self._delay, self._frequency) if knob and knob.auto]
        return np.column_stack(columns) if columns else np.empty((len(settings), 0))


def distances(left: Inputs, right: Inputs) -> Array:
    """How far points are apart, knob by knob on its own scale and all knobs together, shape (len(left), len(right))."""
    apart = left.coordinates[:, None, :] - right.coordinates[None, :, :]
    return np.asarray(np.sqrt((apart**2).sum(axis=-1)))


def _highest(knob: Knob | None) -> float:
    """The knob's highest number; 1 where it has none to divide by."""
    return max(knob.numbers(), default=0.0) or 1.0 if knob else 1.0


def _numbers(settings: Sequence[Setting], knob: Knob | None, auto: float) -> Array:
    if knob is None:
        return np.full(len(settings), auto)
    return _each(settings, knob.id, lambda value: auto if isinstance(value, str) else float(value))


def _auto_flags(settings: Sequence[Setting], knob: Knob) -> Array:
    return _each(settings, knob.id, lambda value: [float(isinstance(value, str))])


def _each(settings: Sequence[Setting], knob_id: str, of: Callable[[Value], float | list[float]]) -> Array:
    """What `of` makes of each setting's value of one knob; each value is looked at once."""
    values = [s[knob_id] for s in settings]
    place = {value: i for i, value in enumerate(dict.fromkeys(values))}
    return np.array([of(value) for value in place])[[place[value] for value in values]]


class _Axis:
    """A knob's coordinates: one scaled for its numbers, and one of 0 or 1 for each of its names (`auto` among them)."""

    def __init__(self, knob: Knob) -> None:
        numbers = knob.numbers()
        self._id = knob.id
        self._is_numeric = bool(numbers)
        self._names = [v for v in knob.values() if isinstance(v, str)]
        self._low, self._span = (numbers[0], max(numbers[-1] - numbers[0], 1e-9)) if numbers else (0.0, 1.0)

    def coordinates(self, settings: Sequence[Setting]) -> Array:
        """Shape (n, c)."""
        return _each(settings, self._id, self._of)

    def _of(self, value: Value) -> list[float]:
        scaled = 0.5 if isinstance(value, str) else (value - self._low) / self._span
        return [scaled] * self._is_numeric + [float(value == name) for name in self._names]
