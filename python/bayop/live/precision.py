"""Windows that are repeated until their latency is known well enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.saving import Z_95


@dataclass(frozen=True, slots=True)
class Precision:
    """How well a trial's latency has to be known.

    Attributes:
        quantity: The latency quantile that counts, such as `p99_us`.
        interval: Half of the width of its 95 % confidence interval, as a share of it.
        most_windows: No trial has more windows than this.

    Raises:
        InputError: an interval or a number of windows that is none.
    """

    quantity: str
    interval: float
    most_windows: int = 3

    def __post_init__(self) -> None:
        if not 0.0 < self.interval < math.inf:
            raise InputError("an interval must be a positive share", value=self.interval, parameter="interval")
        if self.most_windows < 1:
            raise InputError("a trial must have at least one window", value=self.most_windows, parameter="most_windows")

    def wants_more(self, windows: Sequence[Measurement]) -> bool:
        """Whether another window is worth its time; one of a source that does not know its errors is never."""
        sd = pool(windows).relative_sd.get(self.quantity)
        return len(windows) < self.most_windows and sd is not None and Z_95 * sd > self.interval


def pool(windows: Sequence[Measurement]) -> Measurement:
    """The mean of windows of equal length, of what every one of them has measured; energy and time add up.

    Windows are independent of each other, so that the errors of n of them shrink to 1/n of the root of their squares'
    sum.
    """
    if len(windows) == 1:
        return windows[0]
    names = frozenset.intersection(*(frozenset(w.quantities) for w in windows))
    sums = {"energy_j", "duration_s"}
    quantities = {n: (math.fsum if n in sums else fmean)([w[n] for w in windows]) for n in names}
    with_sd = [n for n in names if all(n in w.relative_sd for w in windows)]
    relative_sd = {
        n: math.hypot(*(w[n] * w.relative_sd[n] for w in windows)) / len(windows) / quantities[n] for n in with_sd
    }
    return Measurement(quantities, relative_sd)
