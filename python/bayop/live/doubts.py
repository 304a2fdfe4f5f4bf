"""What makes the numbers of a live machine doubtful, in words for people."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Final

BUSY: Final = 0.1
"""A machine that is so busy before the load begins does other work than the service's."""

STATED_WITHIN: Final = 0.05
"""So far from what was stated, as a share of it, and the load is another one."""

_SPREAD: Final = 0.1
"""Windows of one setting, half of which lie so far from their median, as a share of it, saw other work come and go."""

_FEWEST_WINDOWS: Final = 4


def foreign_work(busy_before: float | None) -> list[str]:
    """Doubts because of other work on the machine.

    Args:
        busy_before: Its utilization before the load began; None where nobody knows.
    """
    if busy_before is None or busy_before <= BUSY:
        return []
    busy = f"the machine was {busy_before:.0%} busy with other work before the load began"
    return [f"{busy}; its power, and with it the saving, is also that work's"]


def unsteady_work(utilizations: Sequence[float]) -> list[str]:
    """Doubts because windows of the same setting under the same load were not equally busy."""
    if len(utilizations) < _FEWEST_WINDOWS:
        return []
    middle = median(utilizations)
    if median(abs(u - middle) for u in utilizations) <= _SPREAD * middle:
        return []
    busy = f"the machine was {min(utilizations):.0%} to {max(utilizations):.0%} busy in windows of the same setting"
    return [f"{busy}: other work than the service's comes and goes"]


def other_load(seen_qps: float | None, stated_qps: float) -> list[str]:
    """Doubts because the load is not the stated one.

    Args:
        seen_qps: What was measured, in requests/s; None where nobody counts.
        stated_qps: What the search is for.
    """
    if seen_qps is None or abs(seen_qps - stated_qps) <= STATED_WITHIN * stated_qps:
        return []
    return [
        f"the load is {seen_qps:,.0f} requests/s, not the stated {stated_qps:,.0f}: the result is for what was measured"
    ]
