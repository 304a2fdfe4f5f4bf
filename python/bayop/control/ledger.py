"""The controller's books: every second of its time belongs to exactly one window, and every window has its price."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

from bayop.control.phase import INSTANT_S
from bayop.control.tail import share_over
from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.search import Stopped, Trial
from bayop.slo import Slo
from bayop.space import Setting

Phase = Literal["default", "trial", "hold", "switchback", "fall-back", "other"]
"""What time is spent on: the default (the operating system decides), a setting that is tried or held, the default for a
window between two of a hold, a setting fallen back to (safe, after a breach), or what somebody else applied."""

Ended = Literal[Stopped, "warm"]
"""Why a search of a controller ended: `warm` tried nothing, since a setting was known for the load."""


@dataclass(frozen=True, slots=True)
class LedgerWindow:
    """A window of the controller's time, with one setting in effect and what it took.

    Attributes:
        start_s: When it began.
        duration_s: How long it lasted.
        phase: What it was spent on.
        setting: What was in effect; None for the default.
        qps: Load that was served, in requests/s.
        power_w: Mean power; None when a window that was cut short did not show it.
        latency_us: Latency at the SLO's quantile, the highest of several; a lower bound when the window was cut short;
            None when not shown.
        over_share: Share of the requests that were slower than that quantile's limit (0-1).
        meets_slo: Whether every quantile met the SLO; a window that was cut short never did.
        search: Number of the search that a trial belongs to.
        cut_short: Why the window ended early, for people; None when it did not.
    """

    start_s: float
    duration_s: float
    phase: Phase
    setting: Setting | None
    qps: float
    power_w: float | None
    latency_us: float | None
    over_share: float
    meets_slo: bool
    search: int | None = None
    cut_short: str | None = None

    @classmethod
    def of(
        cls,
        measurement: Measurement,
        slo: Slo,
        *,
        start_s: float,
        duration_s: float,
        phase: Phase,
        setting: Setting | None,
        qps: float,
        search: int | None = None,
    ) -> LedgerWindow:
        """The window that a measurement describes; `qps` is the offered load, for plants that count no requests."""
        show = measurement.get if measurement.censored else measurement.__getitem__
        return cls(
            start_s=start_s,
            duration_s=duration_s,
            phase=phase,
            setting=setting,
            qps=measurement.get("qps") or qps,
            power_w=show("power_w"),
            latency_us=show(slo.quantity),
            over_share=share_over(measurement, slo.limit_us),
            meets_slo=measurement.meets(slo),
            search=search,
            cut_short=measurement.cut_short,
        )

    @property
    def end_s(self) -> float:
        """When it ended."""
        return self.start_s + self.duration_s

    @property
    def requests(self) -> float:
        """Requests served."""
        return self.qps * self.duration_s

    @property
    def requests_over(self) -> float:
        """Requests slower than the SLO's limit."""
        return self.requests * self.over_share


@dataclass(frozen=True, slots=True)
class Search:
    """One search of the controller.

    Attributes:
        number: Counts from 1.
        reason: What started it, for people.
        start_s: When it began.
        end_s: When it ended.
        qps: The load that it searched at.
        trials: Its trials, in order.
        stopped: Why it ended.
        setting: What it found; None when nothing was trusted to meet the SLO.
    """

    number: int
    reason: str
    start_s: float
    end_s: float
    qps: float
    trials: tuple[Trial, ...]
    stopped: Ended
    setting: Setting | None


@dataclass(slots=True)
class Ledger:
    """Windows without gap or overlap, and the searches among them."""

    windows: list[LedgerWindow] = field(default_factory=list)
    searches: list[Search] = field(default_factory=list)

    def add(self, window: LedgerWindow) -> None:
        """Appends a window; one that continues the last (same setting, same numbers) makes the last one longer.

        Raises:
            InputError: the window does not begin where the last one ended, or has no duration.
        """
        if not window.duration_s > 0:
            raise InputError("a window must last longer than nothing", value=window.duration_s)
        if not self.windows:
            self.windows.append(window)
            return
        last = self.windows[-1]
        if not math.isclose(window.start_s, last.end_s, abs_tol=INSTANT_S):
            raise InputError(f"a window must begin where the last one ended, at {last.end_s:g} s", value=window.start_s)
        if window.phase != "trial" and replace(window, start_s=last.start_s, duration_s=last.duration_s) == last:
            self.windows[-1] = replace(last, duration_s=window.end_s - last.start_s)
        else:
            self.windows.append(window)

    @property
    def duration_s(self) -> float:
        """Time in the books."""
        return math.fsum(w.duration_s for w in self.windows)

    @property
    def energy_j(self) -> float:
        """Energy of all windows, trials included."""
        return math.fsum(self.power_of(w) * w.duration_s for w in self.windows)

    def power_of(self, window: LedgerWindow) -> float:
        """Mean power of a window; of one that was cut short before it showed any, that of all the others.

        Raises:
            InputError: no window showed any.
        """
        if window.power_w is not None:
            return window.power_w
        energies = [(w.power_w * w.duration_s, w.duration_s) for w in self.windows if w.power_w is not None]
        if not energies:
            raise InputError(wrong="no window shows power_w")
        return sum(energy_j for energy_j, _ in energies) / sum(duration_s for _, duration_s in energies)

    @property
    def requests(self) -> float:
        """Requests served."""
        return math.fsum(w.requests for w in self.windows)

    @property
    def requests_over(self) -> float:
        """Requests slower than the SLO's limit."""
        return math.fsum(w.requests_over for w in self.windows)

    @property
    def over_s(self) -> float:
        """Time in windows that missed the SLO, trials included."""
        return math.fsum(w.duration_s for w in self.windows if not w.meets_slo)

    @property
    def trials(self) -> int:
        """Trials of all searches."""
        return sum(len(s.trials) for s in self.searches)
