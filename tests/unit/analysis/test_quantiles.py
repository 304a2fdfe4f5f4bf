from __future__ import annotations

import polars as pl
from tests.support.tables import study_frame

from bayop.analysis.cells import cells
from bayop.analysis.quantiles import quantile_columns, quantile_curves


def test_quantiles_are_in_order_and_empty_ones_are_left_out() -> None:
    frame = study_frame().with_columns(p999_us=pl.col("p99_us") * 2, p5_us=pl.lit(None, pl.Float64))
    assert quantile_columns(frame) == ["p50_us", "p99_us", "p999_us"]


def test_a_curve_rises() -> None:
    curves = quantile_curves(cells(study_frame(), ["p50_us", "p99_us"]))
    assert curves.height == 20
    one = curves.filter(pl.col("asked.nic.rx_usecs").is_null())
    assert one["quantile"].to_list() == [0.5, 0.99]
    assert one["latency_us"].is_sorted()
