"""The best setting under an SLO: the cheapest of those that can be trusted to meet it."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl
from scipy import stats

from bayop.analysis.cells import CLEAR, DOF, STANDARD_ERROR, relative_error
from bayop.analysis.conditions import by_condition, is_default
from bayop.analysis.trade_off import TradeOff

TRUST: Final = 0.9
"""Least probability of meeting the SLO; the search asks the same of its incumbent."""


def best_settings(cells: pl.DataFrame, trade_off: TradeOff, limit_us: float, *, trust: float = TRUST) -> pl.DataFrame:
    """The best setting of every condition that has one; the default competes like any other.

    Args:
        cells: Means with standard errors.
        trade_off: What is bounded, and what is minimised.
        limit_us: What the latency must stay below; infinite to bound nothing.
        trust: Least probability that the true mean does.

    Returns:
        Rows of `cells` with two columns more: `meets`, that probability, and `rivals`, how many other trusted settings
        cost so little more that noise could be the reason. Of many rivals, the winner owes some of its lead to luck.
        Either is null where the noise that it depends on is unknown; there a mean counts as the true one.
    """
    complete = cells.drop_nulls(trade_off.quantities)
    judged = complete.with_columns(pl.Series("meets", meets(complete, trade_off.latency, limit_us), pl.Float64))
    trusted = judged.filter(pl.col("meets") >= trust).sort(trade_off.cost)
    if np.isfinite(limit_us):
        trusted = trusted.with_columns(pl.when(_known(trade_off.latency)).then("meets"))
    return pl.concat([_first(part.rows, trade_off.cost) for part in by_condition(trusted)])


def meets(cells: pl.DataFrame, latency: str, limit_us: float) -> np.ndarray:
    """The probability that each true mean lies below the limit, from its standard error; 0 or 1 where none is known.

    The logarithm of a mean is Student-distributed around that of the true mean.
    """
    means, errors = cells[latency].to_numpy(), relative_error(cells, latency)
    if np.isinf(limit_us):
        return np.ones(len(means))
    certain = (means < limit_us).astype(float)
    has_error = errors > 0
    margins = np.log(limit_us / means[has_error]) / errors[has_error]
    dof = cells[DOF + latency].fill_null(1.0).to_numpy()[has_error]
    certain[has_error] = stats.t.cdf(margins, np.maximum(dof, 1.0))
    return certain


def defaults(cells: pl.DataFrame) -> pl.DataFrame:
    """The cells in which every knob was left to the operating system."""
    return cells.filter(is_default(cells))


def _first(rows: pl.DataFrame, cost: str) -> pl.DataFrame:
    """The first of a condition's settings in the order of their cost, and how many are as good."""
    error = pl.col(STANDARD_ERROR + cost).fill_null(0.0)
    lead, noise = pl.col(cost) - pl.col(cost).first(), (error.pow(2) + error.first().pow(2)).sqrt()
    rivals = ((lead <= CLEAR * noise).sum() - 1).cast(pl.Int64)
    return rows.with_columns(rivals=pl.when(_known(cost)).then(rivals)).head(1)


def _known(quantity: str) -> pl.Expr:
    return pl.col(STANDARD_ERROR + quantity).is_not_null()
