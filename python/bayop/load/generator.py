"""Runs the load generator and says what it saw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bayop import _core
from bayop.load.plan import STORES, OpenLoop, Plan, translate
from bayop.slo import Slo

QUANTILES: Final = (0.5, 0.9, 0.95, 0.99, 0.999, 0.9999)
"""What is shown of the latency."""

Watch = Callable[[int, float | None, float | None], None]
"""Is told how many requests there were until now, and their p50 and p99 in us; None on requests that failed."""


@dataclass(frozen=True, slots=True)
class Quantile:
    """A latency quantile with its 95 % confidence interval, in us.

    Attributes:
        quantile: Which, in (0, 1).
        value_us: The latency; None when it falls on requests that failed, which count as slower than all others.
        low_us: Lower end of the interval; None when there is too little to tell.
        high_us: Upper end.
    """

    quantile: float
    value_us: float | None
    low_us: float | None
    high_us: float | None

    @property
    def half_width(self) -> float | None:
        """Half of the interval's width relative to the value."""
        if self.value_us is None or self.low_us is None or self.high_us is None:
            return None
        return (self.high_us - self.low_us) / 2.0 / self.value_us


@dataclass(frozen=True, slots=True)
class Part:
    """What was seen of one request of a mix, as far as it was sent.

    Attributes:
        name: Its name.
        requests: How often it was sent.
        failed: How many of these were refused or never answered.
        latency_us: Quantiles of its latency; None where one falls on a request that failed.
    """

    name: str
    requests: int
    failed: int
    latency_us: dict[float, float | None]


class Result:
    """What one run saw, on one machine or on several.

    Args:
        report: What the generator recorded.
        offered_qps: The load that was asked for; None in a closed loop and in a replay.
    """

    def __init__(self, report: _core.LoadReport, offered_qps: float | None) -> None:
        self.report = report
        self.offered_qps = offered_qps
        self._read()

    def _read(self) -> None:
        self.counts = self.report.counts()
        self.lateness = self.report.lateness()
        self.troubles = self.report.troubles()
        self.duration_s = self.report.duration_s

    def append(self, later: Result) -> None:
        """Adds a later measurement at the same load."""
        self.report.append(later.report)
        self._read()

    def quantiles(self, shares: Sequence[float] = QUANTILES) -> list[Quantile]:
        """Latency quantiles, counted from the intended send times."""
        return [Quantile(*row) for row in self.report.quantiles(list(shares))]

    def punctual_us(self, shares: Sequence[float] = QUANTILES) -> dict[float, float | None]:
        """What the quantiles would be, had every request been sent in time: what a kernel sees of these requests."""
        return dict(zip(shares, self.report.punctual_quantiles(list(shares)), strict=True))

    def mix(self, shares: Sequence[float] = QUANTILES) -> list[Part]:
        """What was seen of each request of a mix; nothing where only one thing was asked."""
        rows = self.report.mix(list(shares))
        return [
            Part(name, requests, failed, dict(zip(shares, latency_us, strict=True)))
            for name, requests, failed, latency_us in rows
        ]

    @property
    def achieved_qps(self) -> float:
        """Good answers per second of the measurement: hits, misses and stores."""
        return self.counts["answers_in_time"] / self.duration_s if self.duration_s else 0.0

    @property
    def miss_ratio(self) -> float | None:
        """Share of answered reads that found nothing; None without any."""
        gets = self.counts["gets"]
        return self.counts["misses"] / gets if gets else None

    @property
    def lost(self) -> int:
        """Requests that have no answer at all."""
        counts = self.counts
        return counts["lost_closed"] + counts["lost_timed_out"] + counts["lost_garbage"] + counts["lost_unconnected"]

    @property
    def problems(self) -> list[str]:
        """Why this result is no good, in words; empty when it is."""
        counts, problems = self.counts, []
        if not counts["answered"]:
            problems.append("no request was answered")
        if self.lost:
            fates = {
                "with connections that broke": counts["lost_closed"],
                "without an answer in time": counts["lost_timed_out"],
                "to garbage": counts["lost_garbage"],
                "for want of a connection": counts["lost_unconnected"],
            }
            parts = ", ".join(f"{number:,} {fate}" for fate, number in fates.items() if number)
            problems.append(f"{self.lost:,} of {counts['intended']:,} requests were lost: {parts}")
        if counts["refused"]:
            problems.append(f"{counts['refused']:,} of {counts['intended']:,} requests were refused with an error")
        if not self.lateness["is_on_time"]:
            problems.append(
                f"the generator was late (p50 {_us(self.lateness['p50_us'])}, p99 {_us(self.lateness['p99_us'])}): "
                "more than a fifth of these latencies is its own; give it more threads, machines or a quieter core"
            )
        return problems

    def meets(self, slo: Slo) -> bool:
        """Whether the latency is below the limit, with every failed request counted as too slow."""
        (quantile,) = self.quantiles([slo.quantile])
        return quantile.value_us is not None and slo.met_by({slo.quantity: quantile.value_us})


def preload(plan: Plan) -> _core.Stored:
    """Stores every record of a plan in every server, and reads it back.

    Returns:
        `records` and `value_bytes`; zeros where the protocol stores nothing.

    Raises:
        ServerError: a server can't be reached, refuses a record, or returns another value.
    """
    if plan.dialect not in STORES:
        return {"records": 0, "value_bytes": 0}
    try:
        return _core.load_preload(plan.to_json())
    except _core.Error as error:
        raise translate(error) from error


def run(plan: Plan, *, watch: Watch | None = None) -> Result:
    """Runs a plan; Ctrl-C ends the load, and the result says so.

    Args:
        plan: What to do.
        watch: Told twenty times a second what was seen until then.

    Raises:
        InputError: the plan makes no sense.
        ServerError: a server can't be reached at the start.
        UnsupportedError: this machine has run out of something.
    """
    try:
        report = _core.load_run(plan.to_json(), watch=watch)
    except _core.Error as error:
        raise translate(error) from error
    return Result(report, offered_qps(plan))


def offered_qps(plan: Plan) -> float | None:
    """The mean load that a plan asks for while it measures; None when it asks for none."""
    if not isinstance(plan.schedule, OpenLoop):
        return None
    start_s, requests, measured_s = 0.0, 0.0, 0.0
    for piece in plan.schedule.pieces:
        end_s = start_s + piece.duration_s
        overlap_s = min(end_s, plan.warmup_s + plan.duration_s) - max(start_s, plan.warmup_s)
        if overlap_s > 0:
            requests += piece.qps * overlap_s
            measured_s += overlap_s
        start_s = end_s
    return requests / measured_s if measured_s else 0.0


def _us(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f} us"
