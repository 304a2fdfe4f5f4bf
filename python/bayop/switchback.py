"""What a setting saves while it is held, by switchbacks: now and then the default is in effect for one window.

Each switchback is compared with the mean of the windows of the setting right before and right after it, so that a load
that drifts takes nothing away from or adds to the saving. Its time is random: after each window of the setting one is
drawn or not, without memory. So every moment is as likely as any other, however load, service and machine change in
between, and what the differences say on average is the saving on average over time. They lie far apart and are drawn,
not chosen, so that Student's t gives their interval though the windows of a machine depend on each other.

While the interval is wide, switchbacks are as frequent as may be; where it is narrow, fewer do. Each counts for the
pause at which it was drawn (Hajek's ratio estimator: Sarndal, Swensson & Wretman, Model Assisted Survey Sampling, 5.7),
else times with many switchbacks would weigh more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from scipy.special import stdtrit

from bayop.errors import InputError
from bayop.saving import CONFIDENCE

FEWEST: Final = 12
"""With fewer switchbacks, nobody knows how wide the interval is."""


@dataclass(frozen=True, slots=True)
class Switchback:
    """Three windows of one length, one after the other, in the unit of what is compared.

    Attributes:
        before: What the setting took.
        default: What the default took.
        after: What the setting took again.
        pause_s: The mean of the pauses when this one was drawn, in s: the time that it stands for.
    """

    before: float
    default: float
    after: float
    pause_s: float

    @property
    def difference(self) -> float:
        """What the setting would have saved in the default's window, had all else changed evenly."""
        return self.default - (self.before + self.after) / 2.0


@dataclass(frozen=True, slots=True)
class HeldSaving:
    """How much less a setting takes than the default, on average over the time that it is held.

    Attributes:
        value: The saving, in the unit of what was compared.
        low: Lower end of its 95 % confidence interval; minus infinity with fewer than two switchbacks.
        high: Upper end.
        reference: What the default takes.
        switchbacks: How many say so.
    """

    value: float
    low: float
    high: float
    reference: float
    switchbacks: int

    @property
    def significant(self) -> bool:
        """Whether something is saved for sure: the whole interval lies above 0."""
        return self.low > 0.0

    def net(self, held_share: float) -> HeldSaving:
        """The saving over all time, of which the setting was in effect for a share: switchbacks save nothing."""
        value, low, high = (held_share * end for end in (self.value, self.low, self.high))
        return replace(self, value=value, low=low, high=high)


def held_saving(switchbacks: Sequence[Switchback]) -> HeldSaving:
    """What switchbacks say of the saving.

    Raises:
        InputError: there is none.
    """
    if not switchbacks:
        raise InputError("a saving must come from a switchback or more", value=0)
    whole_s = sum(switchback.pause_s for switchback in switchbacks)
    weights = [switchback.pause_s / whole_s for switchback in switchbacks]
    value = sum(weight * each.difference for weight, each in zip(weights, switchbacks, strict=True))
    reference = sum(weight * each.default for weight, each in zip(weights, switchbacks, strict=True))
    wide = _half_width([each.difference - value for each in switchbacks], weights)
    return HeldSaving(value, value - wide, value + wide, reference, len(switchbacks))


def _half_width(deviations: Sequence[float], weights: Sequence[float]) -> float:
    """Half of the interval: Student's quantile times the standard error, of as many as the weights amount to."""
    count = 1.0 / sum(weight**2 for weight in weights)
    if count <= 1.0 + 1e-9:
        return math.inf
    variance = sum((weight * deviation) ** 2 for weight, deviation in zip(weights, deviations, strict=True))
    quantile = float(stdtrit(count - 1.0, (1.0 + CONFIDENCE) / 2.0))
    return quantile * math.sqrt(variance * count / (count - 1.0))


@dataclass(frozen=True, slots=True)
class Schedule:
    """When the next switchback is.

    Attributes:
        window_s: Length of a window.
        most_share: The share of time that the default has while the saving is not known well.
        least_share: The share that it always has, since a saving may get lost.
        precision: Half of the interval, as a share of the saving, that is precise enough.

    Raises:
        InputError: a window without length, or shares that are none.
    """

    window_s: float
    most_share: float = 0.02
    least_share: float = 0.01
    precision: float = 0.1

    def __post_init__(self) -> None:
        if not self.window_s > 0.0:
            raise InputError("a window must last longer than nothing", value=self.window_s)
        if not 0.0 < self.least_share <= self.most_share <= 0.1:
            raise InputError(
                "the default must have a share of the time, from least_share to most_share, of 10 % at most",
                value=(self.least_share, self.most_share),
            )
        if not self.precision > 0.0:
            raise InputError("an interval must have a width", value=self.precision)

    def pause_s(self, saving: HeldSaving | None) -> float:
        """The mean pause between two switchbacks, in s, by what is known of the saving so far."""
        return self.window_s / self._share(saving)

    def is_due(self, pause_s: float, random: Random) -> bool:
        """Whether the default is in effect in the next window, as drawn when a window of the setting has ended."""
        return random.random() < self.window_s / pause_s

    def _share(self, saving: HeldSaving | None) -> float:
        if saving is None or saving.switchbacks < FEWEST:
            return self.most_share
        wide, enough = (saving.high - saving.low) / 2.0, self.precision * abs(saving.value)
        # The interval narrows with the root of the number of switchbacks.
        share = self.most_share * (wide / enough) ** 2 if enough > 0.0 else self.most_share
        return min(max(share, self.least_share), self.most_share)
