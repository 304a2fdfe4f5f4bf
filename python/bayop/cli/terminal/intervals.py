"""How an estimate with its interval is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def format_interval(estimate: Mapping[str, Any] | None, unit: str) -> str:
    """An estimate for people: `2.3 W (1.9 to 2.7)`; without the interval while nobody knows it."""
    if estimate is None:
        return ""
    ends = [estimate["low"], estimate["high"]]
    known = "" if None in ends else f" ({ends[0]:.3g} to {ends[1]:.3g})"
    return f"{estimate['value']:.3g} {unit}{known}"
