"""Savings as true reductions, 1 - E / E(default), with confidence intervals.

"76 % more efficient" and "43 % less" can be the same two numbers: E(default) / E = 1.76 is a reduction of 43 %. Here a
saving is always the reduction, and it can't exceed 100 %.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from bayop.analysis.best import TRUST, best_settings, defaults
from bayop.analysis.cells import DOF, STANDARD_ERROR
from bayop.analysis.conditions import SYSTEM, WORKLOAD, Part, by_condition
from bayop.analysis.trade_off import TradeOff
from bayop.saving import CONFIDENCE
from bayop.study.schema import ASKED


@dataclass(frozen=True, slots=True)
class Reduction:
    """By how much a quantity is smaller than its reference; negative when it is larger.

    Attributes:
        value: 1 - a / b.
        low: Lower end of the confidence interval; None where no noise is known.
        high: Its upper end.
    """

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Saving:
    """A setting against the default.

    Attributes:
        condition: The condition's keys.
        under: What bounds the latency: an SLO, or `no slower than the default`.
        against: The system whose default is compared with; the condition's own where it has one.
        setting: The asked knobs, by knob id; those left to the operating system are absent.
        cell: The setting's means.
        default: The default's means.
        reductions: By quantity.
    """

    condition: Mapping[str, Any]
    under: str
    against: Mapping[str, Any]
    setting: Mapping[str, float | str]
    cell: Mapping[str, Any]
    default: Mapping[str, Any]
    reductions: Mapping[str, Reduction]


def reduction(
    cell: Mapping[str, Any], default: Mapping[str, Any], quantity: str, *, confidence: float = CONFIDENCE
) -> Reduction:
    """1 - a / b with its interval.

    By the delta method on log(a / b), whose variance is the sum of the relative variances, with Welch's degrees of
    freedom; so the interval is not symmetric, and never goes beyond 100 %.
    """
    ratio = cell[quantity] / default[quantity]
    parts = [_relative_variance(row, quantity) for row in (cell, default)]
    present = [part for part in parts if part is not None]
    if len(present) < len(parts) or ratio <= 0:
        return Reduction(1.0 - ratio, None, None)
    total = sum(variance for variance, _ in present)
    spread = sum(variance**2 / dof for variance, dof in present)
    dof = total**2 / spread if spread > 0 else np.inf
    reach = float(stats.t.ppf(0.5 + confidence / 2, dof)) * float(np.sqrt(total))
    return Reduction(1.0 - ratio, 1.0 - ratio * float(np.exp(reach)), 1.0 - ratio * float(np.exp(-reach)))


def savings(
    cells: pl.DataFrame,
    trade_off: TradeOff,
    limits_us: Mapping[str, float | None],
    *,
    among: pl.DataFrame | None = None,
    trust: float = TRUST,
) -> list[Saving]:
    """What the best setting of every condition saves, under each bound on its latency.

    Args:
        cells: Means with standard errors.
        trade_off: What is bounded, and what is minimised.
        limits_us: The bounds by their names; None stands for the default's own latency.
        among: The cells that compete; all of them when omitted, the default too.
        trust: Least probability that a setting meets its bound.

    Returns:
        Nothing for a condition without a default to compare with, or without a setting that meets the bound.
    """
    entries, default = [], defaults(cells)
    for part in by_condition(cells if among is None else among):
        against = reference(default, part.keys)
        if against is not None:
            entries += list(_under_limits(part, against, trade_off, limits_us, trust))
    return entries


def reference(default: pl.DataFrame, condition: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The default that a condition is compared with: its own, else the only one of its workload.

    A library OS has no governor that it could leave anything to; it is compared with the default of the other system.

    Args:
        default: The cells of the default, of any number of conditions.
        condition: The keys.
    """
    rows = [row for row in default.iter_rows(named=True) if _agree(row, condition, WORKLOAD)]
    own = [row for row in rows if _agree(row, condition, SYSTEM)]
    return own[0] if own else rows[0] if len(rows) == 1 else None


def _agree(row: Mapping[str, Any], condition: Mapping[str, Any], columns: Sequence[str]) -> bool:
    return all(row[name] == condition[name] for name in columns if name in condition)


def setting_of(row: Mapping[str, Any]) -> dict[str, float | str]:
    """The knobs that a row asks for, by knob id; those left to the operating system are absent."""
    return {k.removeprefix(ASKED): v for k, v in row.items() if k.startswith(ASKED) and v is not None}


def _under_limits(
    part: Part,
    against: Mapping[str, Any],
    trade_off: TradeOff,
    limits_us: Mapping[str, float | None],
    trust: float,
) -> Iterator[Saving]:
    cells = part.rows
    quantities = [name.removeprefix(STANDARD_ERROR) for name in cells.columns if name.startswith(STANDARD_ERROR)]
    for under, limit_us in limits_us.items():
        bound = against[trade_off.latency] if limit_us is None else limit_us
        best = cells.clear() if bound is None else best_settings(cells, trade_off, bound, trust=trust)
        for row in best.iter_rows(named=True):
            common = [name for name in quantities if row[name] is not None and against[name]]
            yield Saving(
                condition=part.keys,
                under=under,
                against={name: against[name] for name in SYSTEM if name in against},
                setting=setting_of(row),
                cell=row,
                default=against,
                reductions={name: reduction(row, against, name) for name in common},
            )


def _relative_variance(row: Mapping[str, Any], quantity: str) -> tuple[float, float] | None:
    """The squared relative standard error of a mean, and its degrees of freedom."""
    error, dof = row[STANDARD_ERROR + quantity], row[DOF + quantity]
    return None if error is None or not dof else ((error / row[quantity]) ** 2, dof)
