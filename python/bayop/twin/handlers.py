"""What interrupts and packets cost, from the times that handlers took: a straight line by least squares."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from bayop.errors import InputError

_SURE: Final = 3.0  # standard errors


@dataclass(frozen=True, slots=True)
class Line:
    """A fitted line, with the standard errors of its two numbers.

    Attributes:
        fixed: Time of an interrupt without packets.
        each: Time that each packet adds.
    """

    fixed: float
    each: float
    fixed_sd: float
    each_sd: float


@dataclass(frozen=True, slots=True)
class HandlerTimes:
    """Sums over interrupts, from which the straight line `time = fixed + each x packets` follows by least squares.

    They add up, over the queues of a capture and over captures, once times are in cycles.

    Attributes:
        count: Interrupts.
        packets: Received packets.
        packets_squared: Squares of the packets of each.
        time: Time in handler and softirq, in us or in kilocycles.
        time_squared: Squares of the time of each.
        product: Packets of each times its time.
    """

    count: float
    packets: float
    packets_squared: float
    time: float
    time_squared: float
    product: float

    @classmethod
    def of(cls, packets: NDArray[np.int64], times: NDArray[np.float64]) -> Self:
        """The sums of some interrupts, by their packets and times."""
        n, t = packets.astype(np.float64), times.astype(np.float64)
        return cls(len(n), *map(float, (n.sum(), n @ n, t.sum(), t @ t, n @ t)))

    @classmethod
    def added(cls, parts: Iterable[HandlerTimes]) -> Self:
        """The sums of the interrupts of all parts."""
        return cls(*map(math.fsum, zip(*map(astuple, parts), strict=True)))

    def times_factor(self, factor: float) -> HandlerTimes:
        """The same with every time multiplied, such as by the cycles of a us."""
        return HandlerTimes(
            self.count, self.packets, self.packets_squared, factor * self.time, factor**2 * self.time_squared,
            factor * self.product,
        )  # fmt: skip

    def line(self) -> Line:
        """The line of least squares; one that would begin below zero is put through zero.

        Raises:
            InputError: the interrupts all bring as many packets, or those with more don't surely take longer.
        """
        spread = self.packets_squared - self.packets**2 / self.count
        covariance = self.product - self.packets * self.time / self.count
        if spread <= 1e-9 * self.packets_squared or covariance <= 0.0:
            raise _indistinct()
        each = covariance / spread
        fixed = (self.time - each * self.packets) / self.count
        if fixed < 0.0:
            fixed, each = 0.0, self.product / self.packets_squared
        residual = self.time_squared - fixed * self.time - each * self.product
        variance = max(residual, 0.0) / max(self.count - 2.0, 1.0)
        each_sd = math.sqrt(variance / spread)
        if covariance / spread < _SURE * each_sd:
            raise _indistinct()
        return Line(fixed, each, math.sqrt(variance * self.packets_squared / (self.count * spread)), each_sd)


def _indistinct() -> InputError:
    return InputError(
        "interrupts must take longer the more packets they bring, for the costs of both to be told apart",
        wrong="the handlers' times don't surely grow with their packets",
        hint="capture at a longer delay too, such as nic.rx_usecs=200us, where batches differ more",
    )
