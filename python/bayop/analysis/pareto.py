"""The Pareto front: settings of which no other is both faster and cheaper, and how sure that is.

The front of means is one sample: with other noise, other settings would be on it. So means are drawn again from their
standard errors (log-normal, latency and cost independent), and a setting's share of the draws in which it is on the
front is how sure its place is. Resampling two or three repeats instead would understate the noise by half.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from bayop.analysis.cells import STANDARD_ERROR, relative_error
from bayop.analysis.conditions import by_condition
from bayop.analysis.trade_off import TradeOff

DRAWS: Final = 400
_SAMPLE: Final = 20_000
_FAR: Final = 3.0
"""Standard errors by which both of two means may err at once; one pair in 50,000 differs by more."""


def front(cells: pl.DataFrame, trade_off: TradeOff) -> pl.DataFrame:
    """The settings of one condition on its front, the fastest first; of equal points the first of the table.

    Ten million settings take less than a second: the front of a sample beats most of them before any are sorted.
    """
    latency, cost = trade_off.quantities
    points = cells.select(latency, cost).with_row_index("row").drop_nulls()
    if points.height > _SAMPLE:
        sample = points.gather_every(points.height // _SAMPLE).select(latency, cost).to_numpy().T
        steps = [values[on_front(*sample)] for values in sample]
        points = points.filter(pl.Series(_unbeaten(points[latency].to_numpy(), points[cost].to_numpy(), *steps)))
    at = on_front(points[latency].to_numpy(), points[cost].to_numpy())
    rows: list[int] = points["row"].to_numpy()[at].tolist()
    return cells[rows]


def likely_front(cells: pl.DataFrame, trade_off: TradeOff, *, seed: int, draws: int = DRAWS) -> pl.DataFrame:
    """The settings of every condition that are on their front, or would be with other noise.

    Args:
        cells: Means with standard errors, as `bayop.analysis.cells` gives them.
        trade_off: What is traded for what.
        seed: Of the draws.
        draws: How often the means are drawn.

    Returns:
        Rows of `cells`, the fastest first in every condition, with two columns more: `front`, whether the means are on
        the front, and `on_front`, the share of the draws that are; null where no noise is known.
    """
    rng = np.random.default_rng(seed)
    return pl.concat([_likely(part.rows, trade_off, rng, draws) for part in by_condition(cells)])


def _likely(cells: pl.DataFrame, trade_off: TradeOff, rng: np.random.Generator, draws: int) -> pl.DataFrame:
    certain = front(cells, trade_off)
    errors = [STANDARD_ERROR + name for name in trade_off.quantities]
    if certain.is_empty() or certain.select(pl.all_horizontal(pl.col(e).is_null().all() for e in errors)).item():
        return certain.with_columns(front=pl.lit(value=True), on_front=pl.lit(None, pl.Float64))
    near = _near(cells.drop_nulls(trade_off.quantities), certain, trade_off).sort(*trade_off.quantities)
    points = [near[name].to_numpy() for name in trade_off.quantities]
    relative = [relative_error(near, name) for name in trade_off.quantities]
    member = _member(points)
    hits = np.zeros(near.height)
    for _ in range(draws):
        latency, cost = (x * np.exp(e * rng.standard_normal(len(x))) for x, e in zip(points, relative, strict=True))
        # Few are left to sort once the noisy front of means has beaten the rest.
        stairs = on_front(latency[member], cost[member])
        steps, heights = latency[member][stairs], cost[member][stairs]
        open_ = np.flatnonzero(_unbeaten(latency, cost, steps, heights))
        hits[open_[on_front(latency[open_], cost[open_])]] += 1
    rows = near.with_columns(pl.Series("front", member), pl.Series("on_front", hits / draws))
    return rows.filter(pl.col("front") | (pl.col("on_front") > 0))


def on_front(latency: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Positions of the points on the front, the fastest first."""
    order = np.lexsort((cost, latency))
    sorted_cost = cost[order]
    before = np.concatenate(([np.inf], np.minimum.accumulate(sorted_cost)[:-1]))
    return order[sorted_cost < before]


def _member(points: list[np.ndarray]) -> np.ndarray:
    members = np.zeros(len(points[0]), dtype=bool)
    members[on_front(*points)] = True
    return members


def _near(cells: pl.DataFrame, certain: pl.DataFrame, trade_off: TradeOff) -> pl.DataFrame:
    """The settings that noise could carry onto the front: no point of it beats them by more than both may err."""
    latency, cost = trade_off.quantities
    worst = {name: certain[name].to_numpy() * np.exp(_FAR * relative_error(certain, name)) for name in (latency, cost)}
    order = np.argsort(worst[latency])
    steps, heights = worst[latency][order], np.minimum.accumulate(worst[cost][order])
    best = {name: cells[name].to_numpy() * np.exp(-_FAR * relative_error(cells, name)) for name in (latency, cost)}
    return cells.filter(pl.Series(_unbeaten(best[latency], best[cost], steps, heights)))


def _unbeaten(latency: np.ndarray, cost: np.ndarray, steps: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """Whether no step of a falling staircase is both faster and cheaper than a point."""
    lowest = np.concatenate(([np.inf], heights))[np.searchsorted(steps, latency, side="left")]
    return np.asarray(cost <= lowest)
