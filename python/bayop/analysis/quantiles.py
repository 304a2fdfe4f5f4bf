"""Latency distributions as quantile curves: how many requests were no slower than a time."""

from __future__ import annotations

import polars as pl

from bayop.analysis.conditions import asked_columns, condition_columns
from bayop.slo import quantile_of


def quantile_columns(frame: pl.DataFrame) -> list[str]:
    """The latency quantiles that a table has, lowest first; those without any value left out."""
    names = [n for n in frame.columns if quantile_of(n) is not None and frame[n].null_count() < frame.height]
    return sorted(names, key=lambda name: quantile_of(name) or 0.0)


def quantile_curves(cells: pl.DataFrame) -> pl.DataFrame:
    """A row for every quantile of every setting: the condition, the knobs, `quantile` (0 to 1) and `latency_us`."""
    names = quantile_columns(cells)
    keys = [*condition_columns(cells), *asked_columns(cells)]
    long = cells.unpivot(names, index=keys, variable_name="quantity", value_name="latency_us").drop_nulls("latency_us")
    as_shares = {name: quantile_of(name) for name in names}
    quantile = pl.col("quantity").replace_strict(as_shares, return_dtype=pl.Float64)
    return long.with_columns(quantile.alias("quantile")).drop("quantity").sort(*keys, "quantile")
