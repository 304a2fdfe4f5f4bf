"""What has happened since `bayop run` began, counted from its events."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, get_args

from bayop.control.ledger import Phase
from bayop.daemon.metrics.exposition import Family, Sample
from bayop.daemon.report import Cause
from bayop.live.agent.messages import Condition

_OF_WINDOW: Final = ("service", "phase")
WINDOWS: Final = Family("bayop_windows_total", "counter", _OF_WINDOW, "Windows; those of the phase trial are trials")
WINDOWS_OVER: Final = Family(
    "bayop_windows_over_slo_total", "counter", _OF_WINDOW, "Windows that missed the SLO, or were cut short"
)
WINDOW_SECONDS: Final = Family("bayop_window_seconds_total", "counter", _OF_WINDOW, "Time in windows")
OVER_SECONDS: Final = Family(
    "bayop_slo_violation_seconds_total", "counter", _OF_WINDOW, "Time in windows that missed the SLO"
)
REQUESTS: Final = Family("bayop_requests_total", "counter", _OF_WINDOW, "Requests in windows")
REQUESTS_OVER: Final = Family(
    "bayop_requests_over_slo_total",
    "counter",
    _OF_WINDOW,
    "Requests slower than the SLO's limit, as far as the latency quantiles of the windows show",
)
ENERGY: Final = Family(
    "bayop_window_energy_joules_total", "counter", _OF_WINDOW, "Energy in windows that have shown their power"
)
SEARCHES: Final = Family("bayop_searches_total", "counter", ("service",), "Searches that have ended")
FALLBACKS: Final = Family(
    "bayop_fallbacks_total", "counter", ("service", "reason"), "Holds that gave way on the agent, by what broke"
)
TROUBLES: Final = Family(
    "bayop_troubles_total", "counter", ("service", "cause"), "Times that the machine had to be let go of, by the cause"
)
WINDOW_END: Final = Family(
    "bayop_window_end_timestamp_seconds", "gauge", ("service",), "When the last window ended, in s since 1970"
)
COUNTED: Final = (
    WINDOWS, WINDOWS_OVER, WINDOW_SECONDS, OVER_SECONDS, REQUESTS, REQUESTS_OVER, ENERGY, SEARCHES, FALLBACKS, TROUBLES,
)  # fmt: skip
_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "phase": get_args(Phase),
    "reason": get_args(Condition),
    "cause": get_args(Cause),
}
"""What a label may be, so that each count is there, and 0, before it first grows."""


class Tally:
    """Counts events. Safe to use from several threads."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._counts: Counter[tuple[Family, tuple[str, ...]]] = Counter()
        self._ends_s: dict[str, float] = {}
        self._causes: dict[str, str] = {}

    def hear(self, event: Mapping[str, Any]) -> None:
        """Counts an event of `bayop run`."""
        service = event.get("service")
        if service is None:
            return
        with self._mutex:
            match event["event"]:
                case "window":
                    self._window(service, event)
                case "search":
                    self._counts[SEARCHES, (service,)] += 1
                case "fell-back":
                    self._counts[FALLBACKS, (service, event["condition"])] += 1
                case "trouble":
                    self._causes[service] = event["cause"]
                    self._counts[TROUBLES, (service, event["cause"])] += 1

    def samples(self, services: Collection[str]) -> Iterator[Sample]:
        """The counts of services."""
        with self._mutex:
            counts, ends_s = self._counts.copy(), dict(self._ends_s)
        for family in COUNTED:
            values = _VALUES.get(family.labels[-1], ())
            for service in services:
                each: list[tuple[str, ...]] = [(value,) for value in values]
                for rest in each or [()]:
                    yield family.at(counts[family, (service, *rest)], service, *rest)
        for service in services:
            if service in ends_s:
                yield WINDOW_END.at(ends_s[service], service)

    def cause(self, service: str) -> str | None:
        """Of a service's last trouble."""
        with self._mutex:
            return self._causes.get(service)

    def _window(self, service: str, event: Mapping[str, Any]) -> None:
        duration_s, requests = event["duration_s"], event["duration_s"] * event["qps"]
        is_over = not event["meets_slo"]
        grown = {
            WINDOWS: 1,
            WINDOWS_OVER: is_over,
            WINDOW_SECONDS: duration_s,
            OVER_SECONDS: duration_s * is_over,
            REQUESTS: requests,
            REQUESTS_OVER: requests * event["over_share"],
            ENERGY: duration_s * (event["power_w"] or 0.0),
        }
        for family, growth in grown.items():
            self._counts[family, (service, event["phase"])] += growth
        self._ends_s[service] = datetime.fromisoformat(event["time"]).timestamp()
