"""What happens to a server besides its physics: factors of utilization, latency and power over its space of settings.

A distortion takes delay and frequency as shares of their ranges, arrays of shape (n,), and gives the logarithms of the
three factors, shape (3, n).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Distortion: TypeAlias = Callable[[Array, Array], Array]

UTILIZATION: Final = 0
LATENCY: Final = 1
POWER: Final = 2


@dataclass(frozen=True, slots=True)
class Field:
    """A smooth random deviation: a few plane waves for each quantity.

    Attributes:
        amplitudes: Of each quantity's logarithm, shape (3,).
        means: What is taken off the mean of the waves, shape (3,).
        waves: Wave numbers in both directions, shape (3, w, 2), in waves per range.
        phases: Shape (3, w).
    """

    amplitudes: Array
    means: Array
    waves: Array
    phases: Array

    def __call__(self, delay: Array, frequency: Array) -> Array:
        """Logarithms of the factors, shape (3, n)."""
        angles = 2.0 * np.pi * self.waves @ np.stack([delay, frequency]) + self.phases[..., None]
        return np.asarray(self.amplitudes[:, None] * (np.cos(angles).mean(axis=1) - self.means[:, None]))


@dataclass(frozen=True, slots=True)
class Bump:
    """Latency rises around one frequency: throttling at the top, a resonance with memory or a neighbour below it.

    Attributes:
        height: Of the logarithm.
        centre: The frequency, as a share of its range.
        width: Its sd, likewise.
    """

    height: float
    centre: float
    width: float

    def __call__(self, delay: Array, frequency: Array) -> Array:
        """Logarithms of the factors, shape (3, n)."""
        del delay
        return _only(LATENCY, self.height * np.exp(-0.5 * ((frequency - self.centre) / self.width) ** 2))


@dataclass(frozen=True, slots=True)
class Ripple:
    """Power goes up and down along both knobs: sleep states and regulators that change over.

    Attributes:
        height: Of the logarithm, from the middle to the crest.
        waves: How many there are along the delay and along the frequency.
        phases: Of both.
    """

    height: float
    waves: tuple[float, float]
    phases: tuple[float, float]

    def __call__(self, delay: Array, frequency: Array) -> Array:
        """Logarithms of the factors, shape (3, n)."""
        crests = [
            np.cos(2.0 * np.pi * wave * place + phase)
            for wave, place, phase in zip(self.waves, (delay, frequency), self.phases, strict=True)
        ]
        return _only(POWER, self.height * (crests[0] + crests[1]) / 2.0)


@dataclass(frozen=True, slots=True)
class Cliff:
    """Latency explodes beyond a line in the space, and utilization shows nothing: a ring overflows, a lock convoys.

    Attributes:
        height: Of the logarithm, well beyond.
        delay: Where the line meets the greatest frequency, as a share of the range of delays.
        frequency: Where it meets the least delay, as a share of the range of frequencies.
        width: How far it is from its foot to its top, as a share of the ranges.
    """

    height: float
    delay: float
    frequency: float
    width: float

    def __call__(self, delay: Array, frequency: Array) -> Array:
        """Logarithms of the factors, shape (3, n)."""
        beyond = delay / self.delay + (1.0 - frequency) / (1.0 - self.frequency) - 1.0
        return _only(LATENCY, self.height / (1.0 + np.exp(-np.clip(beyond / self.width, -50.0, 50.0))))


@dataclass(frozen=True, slots=True)
class Drowning:
    """With little delay at high frequencies interrupts leave no time for requests, which shows.

    Attributes:
        height: Of the logarithm, at the least delay.
        delay: Where half of it is over, as a share of the range of delays.
        steepness: How fast it ends there.
        shown: By how much less than latency utilization rises.
    """

    height: float
    delay: float
    steepness: float
    shown: float

    def __call__(self, delay: Array, frequency: Array) -> Array:
        """Logarithms of the factors, shape (3, n)."""
        drowned = self.height / (1.0 + (delay / self.delay) ** self.steepness)
        drowned = drowned * (0.6 + 0.4 * frequency)
        return np.stack([self.shown * drowned, drowned, np.zeros_like(drowned)])


def _only(quantity: int, factors: Array) -> Array:
    result = np.zeros((3, len(factors)))
    result[quantity] = factors
    return result
