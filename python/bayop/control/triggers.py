"""Why a search starts. A trigger is a rule over what the controller sees at the end of a window; none keeps state."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Protocol

from bayop.control.ledger import LedgerWindow, Search
from bayop.errors import InputError
from bayop.units import HOUR_S, format_quantity

_SLO_MISSED: Final = "SLO missed"


@dataclass(frozen=True, slots=True)
class Situation:
    """What the controller sees between two windows.

    Attributes:
        now_s: The time.
        last: The window that has just ended.
        search: The last search.
        fallen_back: Whether the guard has left that search's setting since.
    """

    now_s: float
    last: LedgerWindow
    search: Search
    fallen_back: bool


class Trigger(Protocol):
    """Decides whether it is time to search again. The first search needs no trigger."""

    def fires(self, situation: Situation) -> str | None:
        """The reason for a search, for people; None to keep holding."""
        ...


@dataclass(frozen=True, slots=True)
class Clock:
    """Searches at fixed times: every hour on the hour in [D].

    Attributes:
        period_s: Time between two searches; multiples of it are the times.
    """

    period_s: float = HOUR_S

    def __post_init__(self) -> None:
        if not self.period_s > 0:
            raise InputError("a clock trigger must have a positive period", value=self.period_s)

    def fires(self, situation: Situation) -> str | None:
        """Whether a multiple of the period has come since the last search began."""
        if self._tick(situation.now_s) > self._tick(situation.search.start_s):
            return f"clock: every {format_quantity(self.period_s / HOUR_S, 'h')}"
        return None

    def _tick(self, time_s: float) -> int:
        return math.floor(time_s / self.period_s + 1e-9)


@dataclass(frozen=True, slots=True)
class LoadChange:
    """Searches when the load has left a band around the load of the last search.

    Attributes:
        band: Half-width of the band, as a share of that load.
    """

    band: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.band < 1:
            raise InputError("a load band must be a share between 0 and 1", value=self.band)

    def fires(self, situation: Situation) -> str | None:
        """Whether the last window's load lies outside the band."""
        change = situation.last.qps / situation.search.qps - 1.0
        return f"load {change:+.0%}" if abs(change) > self.band + 1e-9 else None


@dataclass(frozen=True, slots=True)
class Breach:
    """Searches after the SLO was missed.

    Where a guard has fallen back to a safe setting, one window of it comes first: the service recovers, then BayOp
    looks for something better.

    Attributes:
        rest_s: Least time between two searches for this reason, so that an SLO that nothing meets is not searched
            for without end.
    """

    rest_s: float = 600.0

    def fires(self, situation: Situation) -> str | None:
        """Whether the SLO was missed since the last search, and no such search has just ended."""
        last, search = situation.last, situation.search
        missed = last.phase == "fall-back" if situation.fallen_back else not last.meets_slo
        rested = search.reason != _SLO_MISSED or situation.now_s >= search.end_s + self.rest_s
        return _SLO_MISSED if missed and rested else None


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Fires when one of several triggers does; the first one in order gives the reason."""

    triggers: tuple[Trigger, ...]

    def fires(self, situation: Situation) -> str | None:
        """The first reason."""
        return next((reason for trigger in self.triggers if (reason := trigger.fires(situation))), None)


SCHEDULE: Final = "schedule"
"""The name of what is no rule over a window: the hours of the week (`control/week.py`), which a controller looks at."""

TRIGGERS: Final[dict[str, Trigger]] = {"clock": Clock(), "load": LoadChange(), "breach": Breach()}
"""The triggers by the names that people use."""


def parse_trigger(text: str) -> Trigger:
    """Reads one or several names: `clock`, `load,breach`.

    Raises:
        InputError: a name is unknown or missing.
    """
    triggers = []
    for name in text.split(","):
        trigger = TRIGGERS.get(name.strip())
        if trigger is None:
            raise InputError(
                f"a trigger must be one of {', '.join(TRIGGERS)}", value=name.strip(), hint="several: load,breach"
            )
        triggers.append(trigger)
    return triggers[0] if len(triggers) == 1 else AnyOf(tuple(triggers))
