"""What the twin showed of idle states, as data: residencies of cores over load, and a day of changing load."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Self

from bayop.slo import Slo

_LEAST_SHARE: Final = 0.01
"""States in which no core ever spends so much of its time count as unused."""

_SERVED: Final = 0.95
"""A server that answers a smaller share of the requests that are offered can't keep up."""


def is_overloaded(qps_offered: float, qps_served: float, duration_s: float) -> bool:
    """Whether a window served less than was offered, by more than the chance of its few arrivals explains."""
    offered = qps_offered * duration_s
    return qps_served * duration_s < min(_SERVED * offered, offered - 3.0 * math.sqrt(offered))


@dataclass(frozen=True, slots=True)
class CoreUse:
    """How each core that serves spent its time at one load.

    Attributes:
        qps: Offered load in requests/s.
        balancer: Where awakened requests were served, one of `BALANCERS`.
        power_w: Of the whole server.
        residency: Share of time (0 to 1) of each core in each idle state, from the shallowest on.
        qps_served: Requests/s that were answered; None where nobody kept that.
        overloaded: Whether that is less than was offered.
    """

    qps: float
    balancer: str
    power_w: float
    residency: Mapping[str, Sequence[float]]
    qps_served: float | None = None
    overloaded: bool = False

    @property
    def operating(self) -> list[float]:
        """Share of time in which each core was in none of the states."""
        return [1.0 - sum(shares) for shares in zip(*self.residency.values(), strict=True)]


def used_states(uses: Sequence[CoreUse]) -> list[str]:
    """The idle states in which some core spends time worth showing at some load, from the shallowest on."""
    return [state for state in uses[0].residency if any(max(use.residency[state]) >= _LEAST_SHARE for use in uses)]


@dataclass(frozen=True, slots=True)
class Shown:
    """Power, and latency at the SLO's quantile, of one policy for a while.

    Attributes:
        cut_short: Why it ended early, as where requests came faster than they were served: the latency is then a lower
            bound. None where it did not.
        qps_served: Requests/s that were answered; None where nobody published or kept that.
        overloaded: Whether that is less than was offered.
    """

    power_w: float
    latency_us: float
    cut_short: str | None = None
    qps_served: float | None = None
    overloaded: bool = False

    def meets(self, slo: Slo) -> bool:
        """Whether it met the SLO, at the quantile that it shows; requests that nobody answers don't."""
        return self.cut_short is None and not self.overloaded and slo.met_by({slo.quantity: self.latency_us})


@dataclass(frozen=True, slots=True)
class Step:
    """A load that holds for a while, and what [Y] published of it.

    Attributes:
        published: By what [Y] calls the governor; empty where nothing was.
    """

    start_s: float
    duration_s: float
    qps: float
    published: Mapping[str, Shown] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Window:
    """A step under one policy.

    Attributes:
        simulated: On the twin.
        published: By [Y], if it was.
    """

    policy: str
    step: Step
    simulated: Shown
    published: Shown | None


@dataclass(frozen=True, slots=True)
class Total:
    """A day under one policy.

    Attributes:
        energy_j: Of the whole day.
        power_w: Mean.
        worst_us: The greatest latency, at the SLO's quantile, of a step.
        cut_short: Whether a step was, so that its latency, and the worst, are greater than that.
        over_share: Share of the time (0 to 1) over the SLO.
        overloaded_share: Share of the time in which less was served than offered; 0 where nobody kept that.
    """

    energy_j: float
    power_w: float
    worst_us: float
    cut_short: bool
    over_share: float
    overloaded_share: float = 0.0

    @classmethod
    def of(cls, shown: Iterable[tuple[Step, Shown]], slo: Slo) -> Self:
        """The sum of at least one step."""
        steps = list(shown)
        duration_s = sum(step.duration_s for step, _ in steps)
        energy_j = sum(step.duration_s * it.power_w for step, it in steps)
        return cls(
            energy_j=energy_j,
            power_w=energy_j / duration_s,
            worst_us=max(it.latency_us for _, it in steps),
            cut_short=any(it.cut_short for _, it in steps),
            over_share=sum(step.duration_s for step, it in steps if not it.meets(slo)) / duration_s,
            overloaded_share=sum(step.duration_s for step, it in steps if it.overloaded) / duration_s,
        )


@dataclass(frozen=True, slots=True)
class Day:
    """A day of changing load under several policies.

    Attributes:
        server: What was simulated, for people.
        curve: Where the load comes from, likewise.
        windows: Of every policy at every step, in the order of time.
    """

    server: str
    curve: str
    slo: Slo
    windows: Sequence[Window]

    @property
    def duration_s(self) -> float:
        """Length of the day."""
        return max(window.step.start_s + window.step.duration_s for window in self.windows)

    @property
    def policies(self) -> list[str]:
        """Names, in the order of the windows."""
        return list(dict.fromkeys(window.policy for window in self.windows))

    def of(self, policy: str) -> list[Window]:
        """The windows of one policy."""
        return [window for window in self.windows if window.policy == policy]

    def simulated(self, policy: str) -> Total:
        """The day on the twin."""
        return Total.of(((window.step, window.simulated) for window in self.of(policy)), self.slo)

    def published(self, policy: str) -> Total | None:
        """The day as [Y] published it; None for what it does not have."""
        shown = [(window.step, window.published) for window in self.of(policy) if window.published is not None]
        return Total.of(shown, self.slo) if shown else None

    @property
    def is_published(self) -> bool:
        """Whether anything of it was."""
        return any(window.published is not None for window in self.windows)
