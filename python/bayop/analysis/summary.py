"""Everything that a report says of a study, computed once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from bayop.analysis.best import best_settings, defaults
from bayop.analysis.cells import cells
from bayop.analysis.conditions import by_condition, by_workload, condition_columns, is_closed_loop
from bayop.analysis.one_knob import compare_knobs
from bayop.analysis.pareto import likely_front
from bayop.analysis.per_request import derived, per_request
from bayop.analysis.quantiles import quantile_columns
from bayop.analysis.savings import Saving, reference, savings
from bayop.analysis.trade_off import TradeOff, trade_off_of
from bayop.errors import InputError
from bayop.slo import Slo
from bayop.study import trusted

NO_SLOWER: Final = "no slower than the default"
ANY_TIME: Final = "at any speed"
_ALWAYS: Final = ("power_w", "energy_j", "duration_s", "roundtrip_us", "goodput_mibit_s", "qps", "utilization")


@dataclass(frozen=True, slots=True)
class WorkloadSummary:
    """What is to be said of one workload.

    Attributes:
        keys: The workload's columns and their values.
        cells: Means with standard errors of every setting of every system that has both quantities of the trade-off.
        trade_off: What is traded for what.
        slo: The objective; None in a closed loop, which has no latency quantiles.
        front: The settings that are, or with other noise would be, on their system's front.
        best: The best setting of every system under the SLO; of a closed loop, the one of least cost.
        savings: Against the default, no slower than it and under the SLO.
        knobs: What one knob alone saves under the SLO, and what both do.
    """

    keys: Mapping[str, Any]
    cells: pl.DataFrame
    trade_off: TradeOff
    slo: Slo | None
    front: pl.DataFrame
    best: pl.DataFrame
    savings: Sequence[Saving]
    knobs: Mapping[str, Sequence[Saving]]

    @property
    def limit_us(self) -> float:
        """What latency must stay below; infinite in a closed loop."""
        return math.inf if self.slo is None else self.slo.limit_us

    @property
    def bound(self) -> str:
        """What bounds the latency of the best settings."""
        return ANY_TIME if self.slo is None else str(self.slo)

    @property
    def conditions(self) -> list[Mapping[str, Any]]:
        """The keys of its conditions, in the order of `by_condition`."""
        systems = self.cells.select(condition_columns(self.cells)).unique()
        return [part.keys for part in by_condition(systems)]

    @property
    def best_alone(self) -> list[Mapping[str, Any]]:
        """The best settings that have no default to compare with, and so no saving."""
        return [row for row in self.best.iter_rows(named=True) if self.default_of(row) is None]

    def default_of(self, condition: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The means of the default that a condition is compared with, or None."""
        return reference(defaults(self.cells), condition)


def summarize(study: pl.DataFrame, slo: Slo, *, seed: int) -> list[WorkloadSummary]:
    """Analyses the trusted trials of a study, workload by workload.

    Args:
        study: Trials, as the schema has them.
        slo: The latency objective of open-loop work.
        seed: Of the draws that say how sure a front is.

    Raises:
        InputError: no trial is trusted, or no trial of a workload has both quantities of its trade-off.
    """
    rows = trusted(study)
    if rows.is_empty():
        raise InputError(
            "a study must have at least one trusted trial",
            wrong="no trial of the study is trusted",
            hint="every row is cut short or suspect",
        )
    return [_workload(part.keys, part.rows, slo, seed) for part in by_workload(rows)]


def left_out(study: pl.DataFrame) -> dict[str, int]:
    """How many trials are not trusted, by the reason."""
    reasons = [pl.col(name) for name in ("suspect", "cut_short") if name in study.columns]
    if not reasons:
        return {}
    counts = study.select(reason=pl.coalesce(reasons)).drop_nulls()["reason"].value_counts().sort("reason")
    return dict(counts.iter_rows())


def _workload(keys: Mapping[str, Any], rows: pl.DataFrame, slo: Slo, seed: int) -> WorkloadSummary:
    is_closed = is_closed_loop(rows)
    trade_off = trade_off_of(rows, slo)
    _check_measured(keys, rows, trade_off)
    measured = per_request(rows)
    present = [name for name in _ALWAYS if name in rows.columns and rows[name].null_count() < rows.height]
    residencies = [name for name in rows.columns if name.startswith("residency_")]
    quantities = dict.fromkeys(
        [*trade_off.quantities, *present, *quantile_columns(rows), *derived(measured), *residencies]
    )
    means = cells(measured, list(quantities)).drop_nulls(trade_off.quantities)
    limit_us = math.inf if is_closed else slo.limit_us
    limits = {NO_SLOWER: None, ANY_TIME if is_closed else str(slo): limit_us}
    return WorkloadSummary(
        keys=keys,
        cells=means,
        trade_off=trade_off,
        slo=None if is_closed else slo,
        front=likely_front(means, trade_off, seed=seed),
        best=best_settings(means, trade_off, limit_us),
        savings=savings(means, trade_off, limits),
        knobs=compare_knobs(means, trade_off, limit_us),
    )


def _check_measured(keys: Mapping[str, Any], rows: pl.DataFrame, trade_off: TradeOff) -> None:
    """Refuses a workload that has nothing to trade."""
    measured = [name for name in rows.columns if rows[name].null_count() < rows.height]
    missing = [name for name in trade_off.quantities if name not in measured]
    if missing or rows.select(trade_off.quantities).drop_nulls().is_empty():
        lacking = " and ".join(missing or trade_off.quantities)
        workload = ", ".join(
            f"{name} {value if isinstance(value, str) else f'{value:.10g}'}" for name, value in keys.items() if value
        )
        raise InputError(
            f"trials must have {' and '.join(trade_off.quantities)} to be compared",
            wrong=f"no trial of {workload or 'the study'} has {lacking}",
            value=lacking,
            hint=f"columns with values: {', '.join(measured)}",
        )
