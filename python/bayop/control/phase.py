"""When windows end, so that those of many services do not all end in the same instant.

Every service has one of sixty phases, which depends on nothing but its name and how long its windows are: after a
restart they end when they would have ended without it. Those that share one can share what asking costs.
"""

from __future__ import annotations

import math
from hashlib import sha256
from typing import Final

INSTANT_S: Final = 1e-6
"""Times that lie no further apart are one: sums of seconds are rounded."""

_PHASES: Final = 60


def phase_of(name: str, watch_s: float) -> float:
    """How long after a multiple of `watch_s` a service's windows end, in s; at least 0 and less than `watch_s`."""
    return int.from_bytes(sha256(name.encode()).digest()[:4], "big") % _PHASES / _PHASES * watch_s


def window_end_s(now_s: float, watch_s: float, phase_s: float = 0.0) -> float:
    """When the window ends that begins now: `phase_s` after a multiple of `watch_s`, no later than in `watch_s`."""
    return (math.floor((now_s - phase_s) / watch_s + INSTANT_S) + 1) * watch_s + phase_s
