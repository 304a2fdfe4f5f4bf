"""What theory says exactly of a receive queue that is polled: a throttled card, a server that takes all that waits.

A poll finds what has arrived since the last one. The next comes once the interval has passed, or once all that was
found has been served; after a poll that found nothing, not before the next packet. One that found something does not
wait for that: the transmissions that answer it complete, and that raises an interrupt too. Arrivals are Poisson, so the
number found is a Markov chain. Times are in one unit, rates in its inverse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import special

_FOUND: Final = np.arange(401, dtype=np.float64)
"""How many packets a poll finds: up to more than any of a row does."""


@dataclass(frozen=True, slots=True)
class Polls:
    """A receive queue in the long run.

    Attributes:
        per_time: Polls per unit of time.
        mean_wait: From a packet's arrival to the poll that finds it.
        mean_batch: From that poll to the end of the batch, as a packet sees it.
        busy_share: Of time.
    """

    per_time: float
    mean_wait: float
    mean_batch: float
    busy_share: float


def throttled(arrivals: float, interval: float) -> Polls:
    """A card that interrupts at most once an interval, for a core that takes no time."""
    return _polls(arrivals, interval + 0.0 * _FOUND, 0.0 * _FOUND)


def batches(arrivals: float, poll: float, each: float) -> Polls:
    """A server that takes all that waits, `poll` for the look and `each` for every packet, and answers it together."""
    times = poll + each * _FOUND
    return _polls(arrivals, times, times)


def throttled_quantile(interval: float, quantile: float) -> float:
    """A quantile of the wait for a card that always has work: uniform over the interval."""
    return quantile * interval


def _polls(arrivals: float, gaps: npt.NDArray[np.float64], work: npt.NDArray[np.float64]) -> Polls:
    """From the time to the next poll, and the work, by the number of packets found."""
    expected = arrivals * gaps[:, None]
    chain = np.exp(_FOUND * np.log(expected) - expected - special.gammaln(_FOUND + 1.0))  # Poisson
    none = float(chain[0, 0])
    chain[0, 0], chain[0, 1] = 0.0, chain[0, 1] + none
    lazy = 0.5 * (chain + np.eye(len(chain)))  # goes nowhere else in the long run, and does not swing
    shares = np.linalg.matrix_power(lazy, 2**12)[0]
    mean_gap = float(shares @ gaps + shares[0] * none / arrivals)
    per_poll = float(shares @ _FOUND)
    return Polls(
        per_time=1.0 / mean_gap,
        mean_wait=float(shares @ (arrivals * gaps**2 / 2.0)) / per_poll,
        mean_batch=float(shares @ (_FOUND * work)) / per_poll,
        busy_share=float(shares @ work) / mean_gap,
    )
