"""The two shapes of the papers: the V of closed-loop work over ITR-delay, and the L of tail latency against power.

In a closed loop a short delay interrupts for every packet and a long one makes both sides wait, so time and energy fall
and rise again: a V with its point where a message's packets just fit into one delay ([D] section 2.3). In an open loop
the front of latency against power is an L: power falls steeply at first for little latency, and beyond the corner
latency grows for little power ([D] section 2.4).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from bayop.analysis.cells import CLEAR, STANDARD_ERROR
from bayop.analysis.conditions import DELAY, FREQUENCY, condition_columns, over_delay
from bayop.analysis.pareto import front
from bayop.analysis.trade_off import TradeOff

_LEAST_DELAYS: Final = 3


def v_minima(cells: pl.DataFrame, quantity: str) -> pl.DataFrame:
    """Where a quantity is least over the ITR-delays of every frequency, and whether that is the point of a V.

    Returns:
        A row for every frequency of every condition that has three delays or more: the condition, frequency, `delay_us`
        of the minimum, `least`, the quantity at the `shortest` and at the `longest` delay, and `v`: the minimum lies
        between them, and both exceed it by two standard errors; null where those are unknown. The frequency is null
        where it was left alone.
    """
    error = STANDARD_ERROR + quantity
    keys = [*condition_columns(cells), FREQUENCY]
    ends = over_delay(cells).drop_nulls(quantity).sort(*keys, DELAY)
    at_least = pl.col(quantity).arg_min()

    def clear(end: pl.Expr, its_error: pl.Expr) -> pl.Expr:
        noise = (its_error.pow(2) + pl.col(error).get(at_least).pow(2)).sqrt()
        return end - pl.col(quantity).get(at_least) > CLEAR * noise

    return (
        ends.group_by(keys, maintain_order=True)
        .agg(
            pl.col(DELAY).get(at_least).alias("delay_us"),
            pl.col(quantity).get(at_least).alias("least"),
            pl.col(quantity).first().alias("shortest"),
            pl.col(quantity).last().alias("longest"),
            v=clear(pl.col(quantity).first(), pl.col(error).first())
            & clear(pl.col(quantity).last(), pl.col(error).last())
            & (at_least > 0)
            & (at_least < pl.len() - 1),
            delays=pl.len(),
        )
        .filter(pl.col("delays") >= _LEAST_DELAYS)
        .drop("delays")
    )


def corner(cells: pl.DataFrame, trade_off: TradeOff) -> pl.DataFrame:
    """The corner of one condition's L: the setting of the front that is farthest below the line between its ends.

    Both quantities count as shares of what the front spans; no row for a front without a bend.
    """
    points = front(cells, trade_off)
    if points.height < 3:
        return points.clear()
    x, y = (points[name].to_numpy() for name in trade_off.quantities)
    below = 1.0 - (x - x[0]) / (x[-1] - x[0]) - (y - y[-1]) / (y[0] - y[-1])
    bend = int(np.argmax(below))
    return points[bend : bend + 1] if below[bend] > 0 else points.clear()
