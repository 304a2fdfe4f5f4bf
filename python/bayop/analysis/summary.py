"""Everything that a report says of a study, computed once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from bayop.analysis.best import best_settings, defaults
from bayop.analysis.cells import cells
from bayop.analysis.conditions import by_workload, is_closed_loop
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
        cells: Means with standard errors of every setting of every system.
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
        InputError: no trial is trusted, or a workload lacks a quantity that its trade-off needs.
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
    measured = per_request(rows)
    present = [name for name in _ALWAYS if name in rows.columns and rows[name].null_count() < rows.height]
    residencies = [name for name in rows.columns if name.startswith("residency_")]
    quantities = dict.fromkeys(
        [*trade_off.quantities, *present, *quantile_columns(rows), *derived(measured), *residencies]
    )
    means = cells(measured, list(quantities))
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
