"""What one request costs: energy, instructions, cycles, interrupts; and how often cores sleep.

Counters cover the part of the window that `energy_window_s` says, or all of it. In a closed loop a request is a round
trip.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from bayop.analysis.conditions import is_closed_loop

ENERGY: Final = "energy_uj_per_request"
COUNTED: Final = ("instructions", "cycles", "interrupts", "llc_misses")
STATES: Final = ("c1", "c1e", "c3", "c6", "c7")


def per_request(frame: pl.DataFrame) -> pl.DataFrame:
    """The trials with columns more, as far as their own allow.

    `energy_uj_per_request`, `instructions_per_request`, `cycles_per_request`, `interrupts_per_request`,
    `llc_misses_per_request`, and `c1_entries_per_s` to `c7_entries_per_s`, of all cores together.
    """
    window = _window_s(frame)
    if window is None:
        return frame
    states = [s for s in STATES if f"{s}_entries" in frame.columns]
    frame = frame.with_columns((pl.col(f"{s}_entries") / window).alias(f"{s}_entries_per_s") for s in states)
    requests = _requests(frame, window)
    if requests is None:
        return frame
    counts = {name: pl.col(name) for name in COUNTED if name in frame.columns}
    if "interrupts_per_s" in frame.columns:  # a rate, where nobody counted
        rate = pl.col("interrupts_per_s") * window
        counts["interrupts"] = pl.coalesce(counts.get("interrupts"), rate)
    columns = [(count / requests).alias(f"{name}_per_request") for name, count in counts.items()]
    if "energy_j" in frame.columns:
        columns.append((1e6 * pl.col("energy_j") / requests).alias(ENERGY))
    return frame.with_columns(columns)


def derived(frame: pl.DataFrame) -> list[str]:
    """The columns of `per_request` that a table has, those without any value left out."""
    names = [ENERGY, *(f"{n}_per_request" for n in COUNTED), *(f"{s}_entries_per_s" for s in STATES)]
    return [name for name in names if name in frame.columns and frame[name].null_count() < frame.height]


def _window_s(frame: pl.DataFrame) -> pl.Expr | None:
    """How long the counters counted."""
    columns = [pl.col(name) for name in ("energy_window_s", "duration_s") if name in frame.columns]
    return pl.coalesce(columns) if columns else None


def _requests(frame: pl.DataFrame, window_s: pl.Expr) -> pl.Expr | None:
    """How many requests the counters cover."""
    if is_closed_loop(frame):
        return pl.col("roundtrips") if "roundtrips" in frame.columns else None
    return pl.col("qps") * window_s if "qps" in frame.columns else None
