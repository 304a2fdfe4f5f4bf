"""What both searches of applications, on the rig and in the lab, say of what was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

WINDOW_S: Final = 2.0
LEAST_REQUESTS: Final = 500
"""Of a window, so that its p99 is not that of one request."""


def window_s(qps: float) -> float:
    """How long a window is under a load."""
    return max(WINDOW_S, LEAST_REQUESTS / qps)


def setting_text(setting: Mapping[str, object] | None) -> str:
    """A setting in a cell of a table, its knobs by the ends of their names; empty for none."""
    return " ".join(f"{knob.partition('.')[2]}={value:g}" for knob, value in (setting or {}).items())


def percent(share: float | None) -> str:
    """A share in a cell of a table."""
    return "unknown" if share is None else f"{100 * share:.1f} %"


def interval(share: float | None, low: float | None, high: float | None) -> str:
    """A share with the ends of its interval in a cell of a table."""
    return f"{percent(share)} ({percent(low)} to {percent(high)})"
