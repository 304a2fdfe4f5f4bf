"""The search of a controller that is under way."""

from __future__ import annotations

from dataclasses import dataclass

from bayop.search import SearchSteps


@dataclass(slots=True)
class Running:
    """A search between two of its trials.

    Attributes:
        number: Counts from 1.
        reason: What started it, for people.
        start_s: When it began.
        qps: The load that it searches at.
        steps: The search itself.
    """

    number: int
    reason: str
    start_s: float
    qps: float
    steps: SearchSteps
