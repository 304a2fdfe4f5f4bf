"""What is counted: which services and systems, on how many connections, at which loads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

from bench.libos.linux import LINUX, TUNED

from bayop.errors import InputError

LIBRARY_OS: Final = "libos"
SMOLTCP: Final = "smoltcp"
"""The library OS with smoltcp's TCP in the place of its own."""
SYSTEMS: Final = (LIBRARY_OS, SMOLTCP, *LINUX)
QPS: Final = 1000.0
"""The load where only connections are said."""
CONNECTIONS: Final = 16
"""So many where only loads are said."""

_NUMBERS: Final = (1, 16, 64, 1024)
_RATES: Final = (2000.0, 4000.0)
"""In emulation tuned Linux serves hardly more: at 8,000/s requests queue, and it takes many of them at once."""
_MOST_RATE: Final = 16_000.0


@dataclass(frozen=True)
class Point:
    """A service under one load.

    Args:
        app: One of `APPS`.
        connections: How many are open.
        qps: The load that is offered over all of them, in requests per second.
        systems: What it is counted on, in turns.
    """

    app: str
    connections: int
    qps: float
    systems: Sequence[str]


WHOLE: Final[Sequence[Point]] = (
    *(Point("memcached", number, QPS, SYSTEMS) for number in _NUMBERS),
    # In emulation Linux's connections time out before so many are open.
    Point("memcached", 10_000, QPS, (LIBRARY_OS,)),
    *(Point("memcached", CONNECTIONS, qps, (LIBRARY_OS, TUNED)) for qps in _RATES),
    Point("memcached", CONNECTIONS, _MOST_RATE, (LIBRARY_OS,)),
    # Without memcached's threads, tuned Linux lacks mitigations only: of this no difference was seen.
    *(Point("tpcc", number, QPS, (LIBRARY_OS, TUNED)) for number in _NUMBERS),
)
"""What is counted where neither connections nor loads are said: in less than an hour, five machines for each row."""


def points(
    *, apps: Sequence[str], systems: Sequence[str], connections: Sequence[int] | None, qps: Sequence[float] | None
) -> Sequence[Point]:
    """Each number of connections at each load where either is said, else what of the whole is of these.

    Raises:
        InputError: Nothing is.
    """
    if connections is not None or qps is not None:
        where = product(apps, connections or [CONNECTIONS], qps or [QPS])
        return [Point(app, number, load, systems) for app, number, load in where]
    of_these = ((point, [each for each in point.systems if each in systems]) for point in WHOLE if point.app in apps)
    found = [replace(point, systems=some) for point, some in of_these if some]
    if not found:
        wrong = f"of {', '.join(apps)} the whole has nothing on {', '.join(systems)}"
        raise InputError("something must be counted", wrong=wrong, hint="say --connections N, --qps Q, or both")
    return found
