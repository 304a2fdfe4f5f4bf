"""The error budget: how many requests may be slower than the SLO's limit, in a period that rolls on with the time."""

from __future__ import annotations

from dataclasses import dataclass

from bayop.errors import InputError


@dataclass(frozen=True, slots=True)
class Spending:
    """What the windows of a time have shown together, trials among them.

    Attributes:
        requests: Requests served.
        requests_over: Those that were slower than the SLO's limit.
        seen_s: How long the windows were, in s.
    """

    requests: float
    requests_over: float
    seen_s: float


@dataclass(frozen=True, slots=True)
class ErrorBudget:
    """A share of the requests of the last `period_s`.

    The time in which no window was seen counts as time of the same load in which nobody waited too long. So a first
    trial is charged to a whole period, and not to the minutes since the start.

    Attributes:
        requests_over: Share of the requests (0-1) that may be slower than the SLO's limit.
        period_s: How long the period is, in s.
    """

    requests_over: float
    period_s: float

    def __post_init__(self) -> None:
        if not (0 < self.requests_over <= 1 and self.period_s > 0):
            raise InputError(
                "an error budget must be a share of the requests up to 1, in a time longer than nothing",
                value=(self.requests_over, self.period_s),
            )

    def left(self, spending: Spending) -> float:
        """The share of the budget that is left (0-1) after what the windows of the last period have shown."""
        if not spending.requests > 0:
            return 1.0
        over = spending.requests_over / spending.requests * min(spending.seen_s / self.period_s, 1.0)
        return max(1.0 - over / self.requests_over, 0.0)
