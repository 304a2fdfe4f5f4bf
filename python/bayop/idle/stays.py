"""Stays in idle states, as a kernel chose them: what `bayop idle record` writes.

A stay is what one decision of a kernel's governor led to. It ends with the idle period or before: the tick may wake a
core that has nothing to do, which then chooses anew. The columns are those of a period (`trace.py`) and three more:
`state` that the kernel chose, `tick_us` until its next tick, and `resumed`: 1 where nothing has run since the stay
before. The waker 3 is the tick.

Lengths are as the kernel measures them: from the entry until the core runs again, so they hold the wake-up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

PERIOD_COLUMNS: Final = ("start_us", "length_us", "timer_us", "waker", "arrivals", "arrival_age_us")
COLUMNS: Final = (*PERIOD_COLUMNS, "state", "tick_us", "resumed")
OTHER, NETWORK, TIMER, TICK = range(4)

Stay = tuple[int, int, int, int, int, int, int, int, int]
Period = tuple[int, int, int, int, int, int]


def periods(stays: Iterable[Stay]) -> Iterator[Period]:
    """The idle periods that the stays make up.

    A stay that the tick ended and after which nothing ran goes on in the next. A tick after which something ran was a
    timer: what it found to do was due then, and waited for nobody.
    """
    period: Period | None = None
    goes_on = False
    for start_us, length_us, timer_us, waker, arrivals, age_us, _, _, resumed in stays:
        ends_by = TIMER if waker == TICK else waker
        if period is not None and goes_on and resumed and not arrivals:
            first_us = period[0]
            period = (first_us, start_us + length_us - first_us, period[2], ends_by, *period[4:])
        else:
            if period is not None:
                yield period
            period = (start_us, length_us, timer_us, ends_by, arrivals, age_us)
        goes_on = waker == TICK
    if period is not None:
        yield period
