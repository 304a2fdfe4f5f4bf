"""The result of a day in numbers: what every configuration cost and what it kept of its promise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from bayop.experiments.day.record import DayRecord, RunRecord
from bayop.units import HOUR_S, convert

_WORTH: Final = 0.02
"""A bound that promises less than this is no measure of anything: shares of it would be noise."""


@dataclass(frozen=True, slots=True)
class Row:
    """One configuration's day.

    Attributes:
        energy_j: Energy of the whole day, trials included.
        saving: Reduction against the default, 1 - E / E_default; negative when more was used.
        latency_us: Latency at the SLO's quantile, mean over time.
        hours_over: Time in windows that missed the SLO, trials included, in hours.
        requests_over: Requests slower than the SLO's limit.
        requests: Requests served.
        trials: Trials of all searches.
        searches: Number of searches.
        bound_share: Share of the reduction that the best static setting of every hour would have reached; of the
            reduction in latency when latency alone was minimised. None without a bound or with next to nothing to gain.
    """

    id: str
    label: str
    energy_j: float
    saving: float
    latency_us: float
    hours_over: float
    requests_over: float
    requests: float
    trials: int
    searches: int
    bound_share: float | None

    @property
    def energy_kwh(self) -> float:
        """The energy in the unit of an electricity bill."""
        return convert(self.energy_j, "J", to="kWh")

    @property
    def over_share(self) -> float:
        """Share of the requests that were slower than the SLO's limit."""
        return self.requests_over / self.requests if self.requests else 0.0


def summarize(record: DayRecord) -> list[Row]:
    """A row for every configuration, in the record's order."""
    return [_row(record, run) for run in record.runs]


def mean_latency_us(run: RunRecord) -> float:
    """Latency at the SLO's quantile, mean over the time that shows it."""
    latencies = [(w.latency_us, w.duration_s) for w in run.windows if w.latency_us is not None]
    return sum(latency_us * duration_s for latency_us, duration_s in latencies) / math.fsum(s for _, s in latencies)


def _row(record: DayRecord, run: RunRecord) -> Row:
    books, default = run.ledger, record.runs[0].ledger
    return Row(
        id=run.id,
        label=run.label,
        energy_j=books.energy_j,
        saving=1.0 - books.energy_j / default.energy_j,
        latency_us=mean_latency_us(run),
        hours_over=books.over_s / HOUR_S,
        requests_over=books.requests_over,
        requests=books.requests,
        trials=run.trials,
        searches=len(run.searches),
        bound_share=_bound_share(record, run),
    )


def _bound_share(record: DayRecord, run: RunRecord) -> float | None:
    bound = record.bound_of(run.os)
    if bound is None or run.kind == "default":
        return None
    cost = mean_latency_us if record.objective == "latency" else _energy
    default, best = cost(record.runs[0]), cost(bound)
    return (default - cost(run)) / (default - best) if default - best > _WORTH * default else None


def _energy(run: RunRecord) -> float:
    return run.ledger.energy_j
