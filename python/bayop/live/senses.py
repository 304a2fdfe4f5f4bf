"""What is measured of a live machine: its agent's sensors and its clients' latency, in windows of time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from bayop.latency.base import Latency, LatencySource, Vantage, Watched, Window
from bayop.live.agent.client import AgentClient
from bayop.live.precision import Precision, pool
from bayop.live.trial_guard import TrialGuard
from bayop.live.window import meter_of, window_quantities
from bayop.measurement import Measurement
from bayop.space import Setting

Sleep = Callable[[float], None]
"""How to wait; it raises when the measurement has lost its meaning."""

_LOOK_S: Final = 0.1
"""How often a guard looks while a window runs."""


class Senses:
    """Measures windows.

    Args:
        client: The machine's agent.
        latency: What the service's clients see.
        window_s: How long one window is.
        precision: When a trial's window is repeated; None for never.
        guard: When a trial ends early; None for never.

    Raises:
        UnsupportedError: the agent can't be reached, or has no power meter.
    """

    def __init__(
        self,
        client: AgentClient,
        latency: LatencySource,
        *,
        window_s: float,
        precision: Precision | None = None,
        guard: TrialGuard | None = None,
    ) -> None:
        self._client = client
        self._latency = latency
        self._window_s = window_s
        self._precision, self._guard = precision, guard
        self.meter = meter_of(client.sensors())
        self.vantage: Vantage | None = None

    def window(self, setting: Setting, *, sleep: Sleep) -> Measurement:
        """One window with a setting in effect."""
        started = time.monotonic()
        before = self._client.sensors()
        latency = self._latency.measure(Window(setting, self._window_s), sleep=sleep)
        sleep(max(started + self._window_s - time.monotonic(), 0.0))
        after = self._client.sensors()
        self.vantage = latency.vantage
        return Measurement(window_quantities(before, after) | dict(latency.quantities), latency.relative_sd)

    def trial(self, setting: Setting, *, qps: float, sleep: Sleep) -> Measurement:
        """One window, and more while they are worth their time; one that the guard cut short ends the trial.

        What was cut short shows what clients saw in its last moments, and nothing else.

        Args:
            setting: What is in effect.
            qps: The load that the search is for.
            sleep: How to wait.
        """
        windows: list[Measurement] = []
        while not windows or (self._precision is not None and self._precision.wants_more(windows)):
            seen = self._guarded(setting, qps, sleep) if self._guard else self.window(setting, sleep=sleep)
            if seen.censored:
                return seen
            windows.append(seen)
        return pool(windows)

    def _guarded(self, setting: Setting, qps: float, sleep: Sleep) -> Measurement:
        try:
            seen = self.window(setting, sleep=lambda duration_s: self._watch(duration_s, qps, sleep))
        except _CutShortError as cut_short:
            return Measurement(cut_short.seen.quantities, cut_short=cut_short.reason)
        reason = self._guard.load_objection(seen.quantities, qps) if self._guard else None
        return replace(seen, cut_short=reason)

    def _watch(self, duration_s: float, qps: float, sleep: Sleep) -> None:
        """Waits, and looks at what clients see meanwhile where the source says it."""
        ends = time.monotonic() + duration_s
        while True:
            sleep(max(min(ends - time.monotonic(), _LOOK_S), 0.0))
            seen = self._latency.recent() if isinstance(self._latency, Watched) else None
            reason = self._guard.objection(seen.quantities, qps) if self._guard and seen else None
            if seen is not None and reason is not None:
                raise _CutShortError(reason, seen)
            if time.monotonic() >= ends:
                return


class _CutShortError(Exception):
    """The guard ends a window."""

    def __init__(self, reason: str, seen: Latency) -> None:
        self.reason, self.seen = reason, seen
        super().__init__(reason)
