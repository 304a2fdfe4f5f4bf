"""What is measured of a live machine: its agent's sensors and its clients' latency, in windows of time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from bayop.errors import InputError, Parameter
from bayop.latency.base import GRACE_S, Latency, LatencySource, Sampling, Vantage, Watched, Window
from bayop.live.agent.client import AgentClient
from bayop.live.agent.messages import Reading
from bayop.live.precision import Precision, pool
from bayop.live.service import Service
from bayop.live.trial_guard import TrialGuard
from bayop.live.window import meter_of, stolen, window_quantities
from bayop.measurement import Measurement
from bayop.space import Setting

Sleep = Callable[[float], None]
"""How to wait; it raises when the measurement has lost its meaning."""

Expect = Callable[[float], None]
"""Says how long the step that begins now takes at most."""

WINDOW_S: Final = 2.0
"""How long one measurement takes. A p99 needs some thousand requests, a power meter some updates."""

_LOOK_S: Final = 0.1
"""How often a guard looks while a window runs."""

_FIRST_S: Final = 1.0
"""How much of a window is asked for on its own, of a source that says nothing before its end."""


_SEAM: Final = 0.01
"""What of a window two may lie apart that follow each other at once."""


@dataclass(frozen=True, slots=True)
class _Last:
    """How the last window ended."""

    end_s: float
    setting: Setting
    readings: Sequence[Reading]


class Senses:
    """Measures windows.

    Args:
        client: The machine's agent.
        latency: What the service's clients see.
        window_s: How long one window is; None for `WINDOW_S`, or longer where the source of latency needs it.
        precision: When a trial's window is repeated; None for never.
        guard: When a trial ends early; None for never.
        service: The service, where somebody counts what it takes; None where nobody does.
        place: Where `latency` was given, for errors.

    Raises:
        UnsupportedError: the agent can't be reached, or has no power meter.
    """

    def __init__(
        self,
        client: AgentClient,
        latency: LatencySource,
        *,
        window_s: float | None = None,
        precision: Precision | None = None,
        guard: TrialGuard | None = None,
        service: Service | None = None,
        place: Callable[[str], str] = Parameter,
    ) -> None:
        self._client = client
        self._place = place
        self._latency = latency
        self._service = service
        if window_s is None:
            window_s = max(WINDOW_S, latency.least_window_s if isinstance(latency, Sampling) else 0.0)
        self.window_s = window_s
        """How long the windows of a trial are."""
        self._precision = precision
        self.guard = guard
        """When a trial ends early; None for never."""
        self.meter = meter_of(self._sensors())
        self.vantage: Vantage | None = None
        self.latest: Latency | None = None
        """What clients saw in the last window."""
        self._pushes = isinstance(latency, Watched)
        """Whether the source says anything while a window runs, as far as was seen."""
        self._last: _Last | None = None
        self._start: Sequence[Reading] = ()
        """What the sensors showed when the window began that runs, or was the last."""

    @property
    def description(self) -> str:
        """What is measured, and by whom, for people."""
        power = f"power {'estimated' if self.meter.estimated else 'measured'} by {self.meter.source}"
        return f"the machine at {self._client.address} ({power}, latency seen by the {self.vantage})"

    def window(
        self,
        setting: Setting,
        *,
        sleep: Sleep,
        expect: Expect = lambda _: None,
        duration_s: float | None = None,
        is_watched: bool = True,
    ) -> Measurement:
        """One window with a setting in effect.

        Args:
            setting: What is in effect.
            sleep: How to wait.
            expect: Told of the window before it begins.
            duration_s: How long it is; None for as long as the windows of a trial.
            is_watched: Whether somebody looks at what the source says meanwhile.

        Raises:
            InputError: the source of latency fails, or waits for longer than it may.
        """
        duration_s = self.window_s if duration_s is None else duration_s
        start_s = time.monotonic()
        self._start = before = self._before(setting, start_s, duration_s)
        latency = self._measured(Window(setting, duration_s, is_watched=is_watched), sleep, expect)
        sleep(max(start_s + duration_s - time.monotonic(), 0.0))
        after = self._sensors()
        self._last = _Last(time.monotonic(), setting, after)
        self._pushes = isinstance(self._latency, Watched) and self._latency.recent() is not None
        self.vantage, self.latest = latency.vantage, latency
        return Measurement(window_quantities(before, after) | dict(latency.quantities), latency.relative_sd)

    def _before(self, setting: Setting, start_s: float, duration_s: float) -> Sequence[Reading]:
        """What the sensors show as a window begins; where it follows the last one at once, what they showed then."""
        last, self._last = self._last, None
        if last is not None and last.setting == setting and start_s - last.end_s <= _SEAM * duration_s:
            return last.readings
        return self._sensors()

    def _sensors(self) -> Sequence[Reading]:
        readings = self._client.sensors()
        return readings if self._service is None else self._service.beside(readings)

    def stolen(self, duration_s: float, *, sleep: Sleep) -> float | None:
        """What of the CPUs' time the hypervisor gives to others while this waits (0-1); None where nobody knows."""
        before = self._client.sensors()
        sleep(duration_s)
        return stolen(before, self._client.sensors())

    def _measured(self, window: Window, sleep: Sleep, expect: Expect) -> Latency:
        """What the source says of a window, if it does so in time."""
        expect(window.duration_s)
        # A second more than a source gives itself, which says better what it has waited for.
        ends = time.monotonic() + window.duration_s + GRACE_S + 1.0

        def wait(duration_s: float) -> None:
            if time.monotonic() > ends:
                raise InputError(
                    "a source of latency must answer when its window is over",
                    wrong=f"it still waits {GRACE_S + 1.0:g} s after a window of {window.duration_s:g} s",
                    place=self._place("latency"),
                )
            sleep(duration_s)

        return self._latency.measure(window, sleep=wait)

    def trial(self, setting: Setting, *, qps: float, sleep: Sleep, expect: Expect = lambda _: None) -> Measurement:
        """One window, and more while they are worth their time; one that the guard cut short ends the trial.

        What was cut short shows what clients saw in its last moments, what was stolen until then, and nothing else.

        Args:
            setting: What is in effect.
            qps: The load that the search is for.
            sleep: How to wait.
            expect: Told of every window before it begins.
        """
        windows: list[Measurement] = []
        while not windows or (self._precision is not None and self._precision.wants_more(windows)):
            if self.guard is None:
                window = self.window(setting, sleep=sleep, expect=expect)
            else:
                window = self._guarded_window(self.guard, setting, qps, sleep, expect)
            if window.censored:
                return window
            windows.append(window)
        return pool(windows)

    def _guarded_window(
        self, guard: TrialGuard, setting: Setting, qps: float, sleep: Sleep, expect: Expect
    ) -> Measurement:
        def check(latency: Latency | None) -> None:
            if latency is not None and (reason := guard.objection(latency.quantities, qps)) is not None:
                raise _CutShortError(reason, latency)

        def watch(duration_s: float) -> None:
            """Waits, and looks at what clients see meanwhile where the source says it."""
            ends = time.monotonic() + duration_s
            while True:
                sleep(max(min(ends - time.monotonic(), _LOOK_S), 0.0))
                check(self._latency.recent() if isinstance(self._latency, Watched) else None)
                if time.monotonic() >= ends:
                    return

        self._start = ()
        try:
            if not self._pushes and self.window_s > _FIRST_S:
                with suppress(InputError):  # too little is seen in so short a time, or the window says what is wrong
                    check(self._measured(Window(setting, _FIRST_S, is_look=True), sleep, expect))
            window = self.window(setting, sleep=watch, expect=expect)
        except _CutShortError as cut_short:
            return self._cut_short(cut_short)
        return replace(window, cut_short=guard.load_objection(window.quantities, qps))

    def _cut_short(self, error: _CutShortError) -> Measurement:
        quantities = dict(error.latency.quantities)
        share = stolen(self._start, self._client.sensors()) if self._start else None
        return Measurement(quantities if share is None else quantities | {"stolen": share}, cut_short=error.reason)


class _CutShortError(Exception):
    """The guard ends a window."""

    def __init__(self, reason: str, latency: Latency) -> None:
        self.reason, self.latency = reason, latency
        super().__init__(reason)
