"""The published comparison of operating systems on old and new machines ([C]): systor_memcached.csv, systor_silo.csv.

No knob was turned: every row is a default. The frequency governor of a machine stands behind its name. Energy is net
of a run without load, and power is over the window that it covers; the paper divides by 30 s whatever the window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from bayop.study.published.layout import Layout, app_of, by_name, number, provenance, text

_DROPPED: Final = (
    "std_us", "min_us", "update_p99_us", "skipped_tx", "client_rx_bytes", "energy_raw_j", "energy_overhead_j",
    "power_paper_w", "instructions_raw", "idle_power_w", "idle_power_paper_w",
)  # fmt: skip
_RENAMED: Final = {
    "qps": "qps_measured",
    "mean_us": "avg_us",
    "duration_s": "load_s",
    "energy_j": "energy_net_j",
    "power_w": "power_window_w",
    "instructions": "instructions_net",
    "cycles": "cycles_net",
    "ref_cycles": "ref_cycles_net",
}


def _converted(header: Sequence[str], path: Path) -> Mapping[str, pl.Expr]:
    columns = provenance(path, pl.col("line"))
    columns["app"] = app_of(path)
    columns["vantage"] = pl.lit("client")
    columns["machine"] = pl.format("{} {}, {}", "node", "machine", "governor")
    # What the authors used bears the file's name; their first trials do not.
    study = columns["study"]
    columns["study"] = pl.when(pl.col("series") == "main").then(study).otherwise(pl.format("{} ({})", study, "series"))
    columns |= {name: pl.col(name) for name in ("os", "qps_offered", "repeat")}
    columns |= {name: pl.col(name) for name in header if name.startswith("p") and name.endswith("_us")}
    columns |= {name: pl.col(theirs) for name, theirs in _RENAMED.items()}
    columns["energy_window_s"] = pl.col("perf_window_s") - pl.col("overhead_window_s")
    return columns


LAYOUT: Final = Layout(
    name="the layout of systor_memcached.csv",
    marks=("perf_window_s", "power_window_w"),
    columns=by_name(
        *("machine", "os", "qps_offered", "repeat"),
        *map(text, ("node", "cpu", "governor", "series")),
        *(number(name, "", -1e18, 1e18) for name in (*_RENAMED.values(), *_DROPPED)),
        number("requests", "", 0.0, 1e18),
        number("perf_window_s", "s", 0.0, 1e7),
        number("overhead_window_s", "s", 0.0, 1e7),
        filled=("node", "machine", "os", "governor", "series", "qps_offered"),
    ),
    required=(
        *("node", "machine", "os", "governor", "series", "qps_offered", "repeat"),
        *_RENAMED.values(),
        *("perf_window_s", "overhead_window_s"),
    ),
    convert=_converted,
)
