"""What one knob alone can save, and what both together can.

A study has pairs of fixed values only, so the knob that is not tuned stands where it does least harm to latency: the
highest frequency, or the shortest ITR-delay. The default policy may do better than that, which is why every number is
against the default.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from bayop.analysis.conditions import DELAY, FREQUENCY, by_condition, delay_and_frequency
from bayop.analysis.savings import Saving, savings
from bayop.analysis.trade_off import TradeOff

DELAY_ONLY: Final = "delay only"
FREQUENCY_ONLY: Final = "frequency only"
BOTH: Final = "both"


def compare_knobs(cells: pl.DataFrame, trade_off: TradeOff, limit_us: float) -> dict[str, list[Saving]]:
    """The savings of the best setting under a limit when one knob, the other, or both are tuned.

    Args:
        cells: Of one workload, with standard errors.
        trade_off: What is bounded, and what is minimised.
        limit_us: What the latency must stay below.

    Returns:
        By what was tuned, a saving for every condition that has several values of both knobs and, among those that
        count, a setting under the limit.
    """
    pairs = _grids(delay_and_frequency(cells))
    by_knob = {
        DELAY_ONLY: _at_end(pairs, FREQUENCY, highest=True),
        FREQUENCY_ONLY: _at_end(pairs, DELAY, highest=False),
        BOTH: pairs,
    }
    return {
        name: savings(cells, trade_off, {name: limit_us}, among=rows)
        for name, rows in by_knob.items()
        if not rows.is_empty()
    }


def _grids(pairs: pl.DataFrame) -> pl.DataFrame:
    """Without the conditions in which a knob has one value only: nothing can be said of tuning it."""
    parts = [part.rows for part in by_condition(pairs)]
    grids = [rows for rows in parts if min(rows[DELAY].n_unique(), rows[FREQUENCY].n_unique()) > 1]
    return pl.concat(grids) if grids else pairs.clear()


def _at_end(pairs: pl.DataFrame, knob: str, *, highest: bool) -> pl.DataFrame:
    end = pl.col(knob).max() if highest else pl.col(knob).min()
    return pl.concat([part.rows.filter(pl.col(knob) == end) for part in by_condition(pairs)])
