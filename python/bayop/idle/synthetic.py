"""Synthetic traces of idle periods: packets of a kind, the work that they bring, and timers known ahead."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import accumulate, islice
from typing import Final

import numpy as np

from bayop.idle.stays import NETWORK, TIMER, Period
from bayop.idle.trace import Trace

Generator = np.random.Generator

PACKETS: Final = 20_000
"""In each trace."""
SERVICE_US: Final = 10.0
"""Mean time that a packet keeps the core busy, exponentially distributed."""
TIMER_GAP_US: Final = 20_000.0
"""Mean time between timers, exponentially distributed."""


def _poisson(random: Generator) -> Iterator[float]:
    """2,000 packets a second, memoryless."""
    while True:
        yield random.exponential(500.0)


def _mmpp(random: Generator) -> Iterator[float]:
    """A Markov-modulated Poisson process: 20,000 a second for 20 ms on average, then 400 a second for 50 ms."""
    while True:
        for gap_us, stay_us in ((50.0, 20_000.0), (2_500.0, 50_000.0)):
            left_us = random.exponential(stay_us)
            while left_us > 0:
                gap = random.exponential(gap_us)
                left_us -= gap
                yield gap


def _pareto(random: Generator) -> Iterator[float]:
    """On and off, each for a time with a heavy tail (shape 1.5, at least 1 ms and 2 ms); 10,000 a second when on."""
    while True:
        left_us = 1_000.0 * (1.0 + random.pareto(1.5))
        off_us = 2_000.0 * (1.0 + random.pareto(1.5))
        while left_us > 0:
            gap = random.exponential(100.0)
            left_us -= gap
            yield gap
        yield min(off_us, 1e6)


def _periodic(random: Generator) -> Iterator[float]:
    """Every millisecond, with 2 % of jitter."""
    while True:
        yield max(random.normal(1_000.0, 20.0), 1.0)


def _batch(random: Generator) -> Iterator[float]:
    """500 batches a second, memoryless; eight packets in each on average, 30 us apart."""
    while True:
        yield random.exponential(2_000.0)
        for _ in range(random.geometric(1 / 8) - 1):
            yield random.exponential(30.0)


def _diurnal(random: Generator) -> Iterator[float]:
    """Memoryless, at a rate that swings between 200 and 10,000 a second: a sine of its logarithm, with days of 4 s."""
    at_us = 0.0
    while True:
        middle_us, swing = 1e6 / math.sqrt(200.0 * 10_000.0), math.sqrt(10_000.0 / 200.0)
        gap_us = random.exponential(middle_us * swing ** math.sin(2 * math.pi * at_us / 4e6))
        at_us += gap_us
        yield gap_us


KINDS: Final[dict[str, Callable[[Generator], Iterator[float]]]] = {
    "poisson": _poisson,
    "mmpp": _mmpp,
    "pareto": _pareto,
    "periodic": _periodic,
    "batch": _batch,
    "diurnal": _diurnal,
}


def synthetic_trace(kind: str, seed: int) -> Trace:
    """A trace of one of `KINDS`; the same seed gives the same trace."""
    random = np.random.default_rng([list(KINDS).index(kind), seed])
    gaps_us = islice(KINDS[kind](random), PACKETS)
    return Trace(f"{kind}-{seed}", tuple(_idle_periods(random, accumulate(gaps_us))))


def _idle_periods(random: Generator, packets_us: Iterator[float]) -> Iterator[Period]:
    """When a core is idle that handles each packet when it can, and each timer for as long as a packet."""
    free_us, timer_us, last_us = 0.0, random.exponential(TIMER_GAP_US), -1.0
    arrivals = 0
    for packet_us in packets_us:
        while True:
            while timer_us <= free_us:
                timer_us += random.exponential(TIMER_GAP_US)
            woken_us = min(packet_us, timer_us)
            start, length = int(free_us), int(woken_us) - int(free_us)
            if length > 0:
                age = -1 if last_us < 0 else max(start - int(last_us), 0)
                waker = TIMER if timer_us < packet_us else NETWORK
                yield start, length, int(timer_us) - start, waker, arrivals, age
                arrivals = 0
            if woken_us == packet_us:
                break
            free_us = timer_us + random.exponential(SERVICE_US)
        free_us = max(free_us, packet_us) + random.exponential(SERVICE_US)
        last_us = packet_us
        arrivals += 1
