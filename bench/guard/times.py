"""How long it took, again and again: what the benchmarks of the guards print and write."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.results import tell_summary


def summarized(times_s: Sequence[float], digits: int) -> Mapping[str, float]:
    """Median and worst."""
    return {
        "breaches": len(times_s),
        "median_s": round(statistics.median(times_s), digits),
        "worst_s": round(max(times_s), digits),
    }


def tell_times(
    out: Path | None,
    program: str,
    summary: Mapping[str, object],
    times_s: Mapping[str, Sequence[float]],
    *,
    name: str,
    kind: str,
) -> None:
    """Prints a summary, and writes summary.json, env.json and NAME.csv into a folder of `out`.

    Args:
        out: The folder of results; None where nothing is written.
        program: The module that measured.
        summary: What it says.
        times_s: The times of each kind.
        name: Of the file with a line for each time.
        kind: The column that says of which kind a time is.
    """
    folder = tell_summary(program, summary, out)
    if folder is not None:
        write_times(folder / f"{name}.csv", times_s, kind=kind)


def write_times(path: Path, times_s: Mapping[str, Sequence[float]], *, kind: str) -> None:
    """Writes a line for each time, with the column `kind` that says of which kind it is."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow([kind, "breach", "fall_back_s"])
        rows.writerows([n, i, f"{t:.4f}"] for n, times in times_s.items() for i, t in enumerate(times, start=1))
