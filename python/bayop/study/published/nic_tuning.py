"""The published sweeps of ITR-delay and frequency ([D]): study_memcached.csv, study_silo.csv, study_netpipe.csv.

Its default policy is the row without ITR and frequency. Some EbbRT rows carry a wrong label; the data say which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from bayop.study.published.layout import Layout, app_of, by_name, number, provenance, text
from bayop.study.schema import Column

_FLAGS: Final = ("itr_mislabelled", "freq_mislabelled")
_COUNTED: Final = (
    "instructions", "cycles", "ref_cycles", "llc_misses", "interrupts", "rx_descriptors", "rx_bytes", "tx_descriptors",
    "tx_bytes", "c1_entries", "c1e_entries", "c3_entries", "c6_entries", "c7_entries",
)  # fmt: skip
_AS_THEY_ARE: Final = (
    "os", "qps_offered", "repeat", "power_w", "energy_j", "duration_s", "energy_window_s", *_COUNTED,
    "roundtrips", "roundtrip_us", "goodput_mibit_s",
)  # fmt: skip

# The machine of the published files; a file of this layout and another name may come from anywhere.
_PUBLISHED: Final = ("study_memcached", "study_silo", "study_netpipe")
_MACHINE: Final = "2x Xeon E5-2690, 82599ES"


def _converted(header: Sequence[str], path: Path) -> Mapping[str, pl.Expr]:
    def has(*names: str) -> bool:
        return all(name in header for name in names)

    stem = path.name.partition(".")[0]
    columns = provenance(path, pl.col("line"))
    columns["machine"] = pl.lit(_MACHINE if stem in _PUBLISHED else "unknown")
    columns["app"] = app_of(path)
    columns["vantage"] = pl.lit("client")
    columns |= {name: pl.col(name) for name in _AS_THEY_ARE if has(name)}
    columns |= {name: pl.col(name) for name in header if name.startswith("p") and name.endswith("_us")}
    static = pl.col("policy") == "static"
    columns["asked.nic.rx_usecs"] = pl.when(static).then("itr_us")
    columns["asked.cpu.freq_mhz"] = pl.when(static).then((pl.col("freq_ghz") * 1000).round())
    if has("rapl_limit_w"):
        # The highest cap of the file is the processor's own limit: nothing was asked.
        cap = pl.col("rapl_limit_w")
        columns["asked.power.cap_w"] = pl.when(cap < cap.max()).then(cap)
    if has("itr_actual_us"):
        columns["effective.nic.rx_usecs"] = pl.col("itr_actual_us")
    if has("msg_bytes"):
        columns["message_bytes"] = pl.col("msg_bytes")
    if has("qps_measured"):
        columns["qps"] = pl.col("qps_measured")
    if has("busy_frac"):
        # Counters and clock do not agree to the last per cent.
        columns["utilization"] = pl.min_horizontal("busy_frac", pl.lit(1.0))
    if has("eff_freq_ghz"):
        columns["mean_freq_mhz"] = pl.col("eff_freq_ghz") * 1000
    if has("interrupts", "duration_s"):
        # Some logs stop before the window ends; the counters then cover less than the load did.
        window_s = pl.coalesce("energy_window_s", "duration_s") if has("energy_window_s") else pl.col("duration_s")
        columns["interrupts_per_s"] = pl.col("interrupts") / window_s
    flags = [flag for flag in _FLAGS if has(flag)]
    if flags:
        words = [pl.when(pl.col(flag) > 0).then(pl.lit(flag)) for flag in flags]
        text = pl.concat_str(words, separator=", ", ignore_nulls=True)
        columns["suspect"] = pl.when(text != "").then(text)
    return columns


_COLUMNS: Final = by_name(
    *_AS_THEY_ARE,
    text("policy"),
    Column("msg_bytes", "integer", "B", "", 1, 2**40),
    number("itr_us", "us", 0.0, 20_000.0),
    number("itr_actual_us", "us", 0.0, 20_000.0),
    number("freq_ghz", "GHz", 0.1, 10.0),
    number("eff_freq_ghz", "GHz", 0.01, 10.0),
    number("rapl_limit_w", "W", 1.0, 20_000.0),
    number("qps_measured", "requests/s", 0.0, 1e9),
    number("busy_frac", "share", 0.0, 1.05),
    *(number(flag, "", 0.0, 1.0) for flag in _FLAGS),
    # What follows says nothing that a study keeps.
    number("log_coverage", "", 0.0, 1e6),
    number("c7_sampled", "", 0.0, 1e18),
    text("dvfs_msr"),
    number("source_line", "", 0.0, 1e12),
    filled=("os", "policy", "power_w", "qps_offered", "msg_bytes"),
)

_STATIC: Final = pl.col("policy") == "static"
_POLICY: Final = "static is a setting of yours; default the system's own, whose itr_us and freq_ghz stay empty"
_RULES: Final = (
    ("policy", "policy must be static or default", _POLICY, ~pl.col("policy").is_in(["static", "default"])),
    *(
        (name, f"{name} must not be empty where the policy is static", _POLICY, _STATIC & pl.col(name).is_null())
        for name in ("itr_us", "freq_ghz")
    ),
)

CLOSED_LOOP: Final = Layout(
    name="the layout of study_netpipe.csv",
    marks=("msg_bytes",),
    columns=_COLUMNS,
    required=("os", "policy", "msg_bytes", "itr_us", "freq_ghz", "power_w", "roundtrip_us"),
    convert=_converted,
    rules=_RULES,
)

OPEN_LOOP: Final = Layout(
    name="the layout of study_memcached.csv",
    marks=("policy", "itr_us", "freq_ghz", "rapl_limit_w"),
    columns=_COLUMNS,
    required=("os", "policy", "qps_offered", "itr_us", "freq_ghz", "power_w"),
    convert=_converted,
    rules=_RULES,
)
