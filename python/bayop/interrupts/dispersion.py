"""Whether packets come independently of each other, as those of many clients do, or wait for those before.

The index of dispersion, variance / mean of the packets in equal stretches of time, is 1 of a Poisson process whatever
its rate (Cox and Lewis, "The Statistical Analysis of Series of Events", 1966), and less where packets keep a distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

LEAST_STRETCHES: Final = 100
"""Of a Poisson process: the index is then known to 0.14."""

_STRETCH: Final = 20  # usual spacings: then what moderation does at the ends of a stretch hardly counts


def packets_by_stretch(times: NDArray[np.int64], packets: NDArray[np.int64], spacing: float) -> NDArray[np.int64]:
    """The packets in each stretch of time; the last one, which is not whole, is left out.

    Args:
        times: When interrupts came, in order.
        packets: How many each brought.
        spacing: The usual time from one to the next, in the same unit.
    """
    numbers = ((times - times[0]) / (_STRETCH * max(spacing, 1.0))).astype(np.int64)
    # A queue that is silent for most of the time would have more stretches than records; it shows no loop either way.
    if numbers[-1] > len(times):
        return np.zeros(0, np.int64)
    return np.bincount(numbers, weights=packets).astype(np.int64)[:-1]


def index_of_dispersion(queues: Sequence[NDArray[np.int64]]) -> float | None:
    """The index over all queues, each with the packets of its stretches; None where they are too few to tell."""
    stretches = sum(len(counts) for counts in queues)
    packets = sum(int(counts.sum()) for counts in queues)
    if stretches < LEAST_STRETCHES or not packets:
        return None
    return sum(float(counts.var()) * len(counts) for counts in queues if len(counts)) / packets
