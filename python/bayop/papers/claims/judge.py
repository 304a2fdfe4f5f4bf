"""How printed numbers are held against measured ones.

A saving of 43 % and one of 76 % can be the same measurement: 1 - E / E_default = 0.43 and E_default / E - 1 = 0.76.
Only the first is a reduction. A claim of a saving that agrees with the second alone is true as a ratio only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bayop.papers.claims.claim import Verdict

TOLERANCE: Final = 0.1
"""How far, as a share of the printed number, a measured one may be to count as the same."""

_HALF: Final = 0.5
"""From this share of what was printed on, a claim holds partly."""


def reduction(value: float, default: float) -> float:
    """The true reduction against the default: 1 - value / default; negative for an increase."""
    return 1.0 - value / default


def as_ratio(reduction: float) -> float:
    """The same change as default / value - 1."""
    return 1.0 / (1.0 - reduction) - 1.0


def agrees(printed: float, measured: float) -> bool:
    """Whether two numbers are the same within `TOLERANCE` of the printed one."""
    return abs(measured - printed) <= TOLERANCE * abs(printed)


def judge_saving(printed: float, measured: float) -> Verdict:
    """Holds a measured reduction against a printed saving of "up to" so much.

    Args:
        printed: The saving as printed (0-1).
        measured: The greatest reduction that was found (0-1).
    """
    if agrees(printed, measured) or measured > printed:
        return Verdict.REPRODUCED
    if agrees(printed, as_ratio(measured)):
        return Verdict.AS_RATIO
    return Verdict.PARTLY if measured >= _HALF * printed else Verdict.NOT


def judge_number(printed: float, measured: float) -> Verdict:
    """Holds a measured number against a printed one of the same meaning."""
    if agrees(printed, measured):
        return Verdict.REPRODUCED
    return Verdict.PARTLY if _HALF <= measured / printed <= 1.0 / _HALF else Verdict.NOT


def judge_range(low: float, high: float, least: float, greatest: float) -> Verdict:
    """Holds the range of measured numbers against a printed range.

    Returns:
        Reproduced when both ends agree, partly when the ranges overlap.
    """
    if agrees(low, least) and agrees(high, greatest):
        return Verdict.REPRODUCED
    overlap = least <= high * (1 + TOLERANCE) and greatest >= low * (1 - TOLERANCE)
    return Verdict.PARTLY if overlap else Verdict.NOT


def judge_parts(hold: Sequence[bool]) -> Verdict:
    """Holds the parts of a statement, each of which holds or not: reproduced when all do, partly when some do."""
    return Verdict.REPRODUCED if all(hold) else Verdict.PARTLY if any(hold) else Verdict.NOT


def judge_at_least(printed: float, measured: float) -> Verdict:
    """Holds a measured factor against a printed "more than so many times"."""
    if measured >= printed:
        return Verdict.REPRODUCED
    return Verdict.PARTLY if measured - 1.0 >= _HALF * (printed - 1.0) else Verdict.NOT
