"""The published trace of idle governors ([Y]): yawn_trace_by_minute.csv; a minute is a trial.

`menu` is what Linux does when left alone; `off` disables the idle states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from bayop.study.published.layout import Layout, by_name, number, provenance, text

_MINUTE_S: Final = 60.0


def _converted(header: Sequence[str], path: Path) -> Mapping[str, pl.Expr]:
    governor = pl.col("governor")
    columns = provenance(path, pl.col("line"))
    columns["machine"] = pl.lit("2x Xeon E5-2697 v2")
    columns["os"] = pl.lit("linux")
    columns["app"] = pl.lit("memcached")
    columns["vantage"] = pl.lit("client")
    columns["asked.idle.governor"] = pl.when(governor == "yawn").then(governor)
    columns["asked.idle.disable"] = pl.when(governor == "off").then(pl.lit("on"))
    columns["effective.idle.governor"] = pl.when(governor != "off").then(governor)
    columns["duration_s"] = pl.lit(_MINUTE_S)
    columns |= {name: pl.col(name) for name in ("qps_offered", "power_w")}
    columns |= {name: pl.col(name) for name in header if name.startswith("p") and name.endswith("_us")}
    columns["mean_us"] = pl.col("avg_us")
    return columns


LAYOUT: Final = Layout(
    name="the layout of yawn_trace_by_minute.csv",
    marks=("minute", "power_median_w"),
    columns=by_name(
        *("qps_offered", "power_w"),
        text("governor"),
        number("minute", "", 0.0, 1e9),
        number("avg_us", "us", 0.01, 6e7),
        *(number(name, "W", 0.0, 20_000.0) for name in ("power_median_w", "pkg0_w", "pkg1_w")),
        number("power_samples", "", 0.0, 1e9),
        filled=("governor", "qps_offered"),
    ),
    required=("governor", "minute", "qps_offered", "avg_us", "power_w"),
    convert=_converted,
    rules=(
        ("governor", "governor must be menu, yawn or off", None, ~pl.col("governor").is_in(["menu", "yawn", "off"])),
    ),
)
