"""Reproduces the coefficients of the built-in load curves from the traces that they were fitted to.

    python bench/load_curve.py trace_twitter_cluster1_hourly.csv trace_twitter_cluster2_hourly.csv

Prints one line a curve: its coefficients, how far the fit is off, and whether `bayop.load.curve.SHAPES` holds them.
Source: Twitter's cache-trace (Yang, Yue, Rashmi, OSDI 2020; CC-BY 4.0), aggregated by the hour.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import fmean

from bayop.load.curve import DAY_H, SHAPES, fourier
from bayop.load.fit import fit_shape, mean_day
from bayop.load.trace import read_trace


def main() -> int:
    """Prints the fits; 1 when a built-in curve differs from its fit."""
    parser = argparse.ArgumentParser(description="Fits the built-in load curves to their traces.")
    parser.add_argument("cluster1", type=Path)
    parser.add_argument("cluster2", type=Path)
    args = parser.parse_args()
    first, second = (mean_day(read_trace(path)) for path in (args.cluster1, args.cluster2))
    days = {
        "twitter": [fmean(pair) for pair in zip(first, second, strict=True)],
        "twitter-cluster1": first,
        "twitter-cluster2": second,
    }
    same = True
    for name, day in days.items():
        shape = fit_shape(day)
        error = fmean((fourier(shape, (h + 0.5) / DAY_H) - day[h]) ** 2 for h in range(DAY_H)) ** 0.5
        agrees = shape == SHAPES[name]
        same &= agrees
        verdict = "as built in" if agrees else "differs from the built-in curve"
        sys.stdout.write(f"{name}: {shape} rms error {error:.3f} of the mean, {verdict}\n")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
