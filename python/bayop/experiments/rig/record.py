"""What a live experiment has measured, as data: reports read nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from bayop.measurement import Measurement
from bayop.search import Stopped
from bayop.slo import Slo
from bayop.space import Setting


@dataclass(frozen=True, slots=True)
class Point:
    """One setting, applied and measured.

    Attributes:
        setting: What was in effect; empty for the default.
        quantities: What the windows showed.
        relative_sd: How exact some of that is.
        cut_short: Why the windows ended early; None when they did not.
    """

    setting: Mapping[str, float | str]
    quantities: Mapping[str, float]
    relative_sd: Mapping[str, float]
    cut_short: str | None

    @classmethod
    def of(cls, setting: Setting, window: Measurement) -> Self:
        """The point of a measurement."""
        return cls(dict(setting), dict(window.quantities), dict(window.relative_sd), window.cut_short)

    def per_request(self, name: str) -> float | None:
        """What a rate (`net_rx_per_s`, or `service_cpu`, in s) makes of each request."""
        qps, amount = self.quantities.get("qps"), self.quantities.get(name)
        return None if qps is None or amount is None or self.cut_short is not None else amount / qps

    @property
    def cpu_us(self) -> float | None:
        """Processor time that the service took for a request; None where nobody counts it."""
        cpu_s = self.per_request("service_cpu")
        return None if cpu_s is None else cpu_s * 1e6

    def meets(self, slo: Slo) -> bool:
        """Whether the SLO was met."""
        return self.cut_short is None and slo.met_by(self.quantities)


@dataclass(slots=True)
class LiveRecord:
    """A sweep and a search of one live machine; it grows while they run.

    Attributes:
        machine: What it is, for people.
        slo: The latency objective.
        objective: What is minimised.
        qps: The load, in requests/s.
        seed: Of everything random.
        estimated: Whether a model says the power, and no meter.
        busy_before: Utilization of the machine before the load began: other work than ours.
        default: The default under load.
        sweep: Every setting of the grid.
        search: Every trial of the search, in order.
        stopped: Why the search ended; None while it has not.
        held: The setting that the search found.
        best: The best setting of the sweep that meets the SLO.
        again: The default, `held` and `best`, measured again in turns after both were done.
        most_pairs: How many rounds of that there may be.
        duration_s: How long everything took.
        failure: What ended the experiment before its end; None when nothing did.
        application: The service, by the name of its definition.
        doubts: What else to know of the numbers, for people.
        link: Between the service and its clients, for people.
        caveat: What its numbers can't say, for people, beside what `estimated` tells; None for nothing.
    """

    machine: str
    slo: str
    objective: str
    qps: float
    seed: int
    estimated: bool
    busy_before: float | None
    default: Point
    sweep: list[Point] = field(default_factory=list)
    search: list[Point] = field(default_factory=list)
    stopped: Stopped | None = None
    held: Mapping[str, float | str] | None = None
    best: Mapping[str, float | str] | None = None
    again: dict[str, list[Point]] = field(default_factory=dict)
    most_pairs: int = 16
    duration_s: float = 0.0
    failure: str | None = None
    application: str = "memcached"
    doubts: list[str] = field(default_factory=list)
    link: str = "a veth pair"
    caveat: str | None = None

    @property
    def knobs(self) -> Sequence[str]:
        """Ids of the knobs."""
        points = [*self.sweep, *self.search]
        return list(points[0].setting) if points else []

    def to_json(self) -> dict[str, Any]:
        """As JSON-ready data."""
        return asdict(self)
