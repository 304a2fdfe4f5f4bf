"""What a day on the rig has shown, as data: reports read nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from bayop.control.ledger import Phase
from bayop.space import Setting

Who = Literal["default", "bayop"]
"""Whose part of an hour it is: the machine's own settings alone, or `bayop run` with all that it does."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A part of an hour.

    Attributes:
        hour: Counts from 0.
        part: 0 for the hour's first half, 1 for its second.
        who: Whose part it is.
        qps: The load that was asked for.
        start_s: When it began, in s since 1970.
        end_s: When it ended.
        latency_us: What the SLO's quantile of its requests was; None when it falls on a request without an answer.
        requests: How many of them the load generator reported in the turn.
        over: How many of those were slower than the SLO's limit, or had no answer.
        served: How many requests the service answered from its begin to its end, by its own count.
        service_cpu_s: Processor time that the service took meanwhile, in s.
        polls: NET_RX softirqs of the whole machine meanwhile.
        energy_j: What it has drawn meanwhile, in J; None where nothing measures that.
    """

    hour: int
    part: int
    who: Who
    qps: float
    start_s: float
    end_s: float
    latency_us: float | None
    requests: int
    over: int
    served: int
    service_cpu_s: float
    polls: int
    energy_j: float | None = None


@dataclass(frozen=True, slots=True)
class RunWindow:
    """A window of `bayop run`, as its state has it; the setting is None for the default."""

    start_s: float
    duration_s: float
    phase: Phase
    setting: Setting | None


@dataclass(slots=True)
class RigDay:
    """A day; it grows while it is played.

    Attributes:
        machine: What it was played on, for people.
        slo: The latency objective.
        objective: What `bayop run` minimised.
        curve: Where the shape of the load comes from.
        hourly_qps: The load of each hour.
        hour_s: How long an hour took, in s.
        seed: Of everything random.
        busy_before: Utilization of the machine before the load began: other work than ours; None where nobody knows.
        turns: The parts of the hours, in order.
        windows: What `bayop run` had in effect, and when.
        searches: How many searches it has ended.
        trials: How many trials they took.
        brain_cpu_s: Processor time that it took itself, its sources of latency included, in s.
        duration_s: How long the day took.
        restored: Whether the device had all its own settings back in the end; None while it is not over.
        failure: What ended it before its end; None when nothing did.
        caveat: What its numbers can't say, for people.
    """

    machine: str
    slo: str
    objective: str
    curve: str
    hourly_qps: Sequence[float]
    hour_s: float
    seed: int
    busy_before: float | None
    turns: list[Turn] = field(default_factory=list)
    windows: list[RunWindow] = field(default_factory=list)
    searches: int = 0
    trials: int = 0
    brain_cpu_s: float = 0.0
    duration_s: float = 0.0
    restored: bool | None = None
    failure: str | None = None
    caveat: str = ""

    def to_json(self) -> dict[str, Any]:
        """As JSON-ready data."""
        return asdict(self)
