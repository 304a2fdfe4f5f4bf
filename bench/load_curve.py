"""Reproduces the coefficients of the built-in load curves from the traces that they were fitted to.

    python bench/load_curve.py trace_twitter_cluster1_hourly.csv trace_twitter_cluster2_hourly.csv

Prints one line a curve: its coefficients, how far the fit is off, and whether `bayop.load.curve.SHAPES` holds them.
Source: Twitter's cache-trace (Yang, Yue, Rashmi, OSDI 2020; CC-BY 4.0), aggregated by the hour.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import numpy as np

from bayop.errors import InputError
from bayop.load.curve import DAY_H, SHAPES, fourier
from bayop.load.trace import read_trace

HARMONICS = 3


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


def mean_day(hourly_qps: Sequence[float]) -> list[float]:
    """Mean load at each hour of the day, relative to the mean of its own day, so that busy days count no more.

    Raises:
        InputError: the trace does not hold whole days.
    """
    if not hourly_qps or len(hourly_qps) % DAY_H:
        raise InputError("a day's shape must be fitted to whole days", value=f"{len(hourly_qps)} hours")
    days = np.asarray(hourly_qps, dtype=float).reshape(-1, DAY_H)
    return [float(x) for x in (days / days.mean(axis=1, keepdims=True)).mean(axis=0)]


def fit_shape(day: Sequence[float], harmonics: int = HARMONICS) -> tuple[float, ...]:
    """Least-squares Fourier series of a day's hourly means, each taken to stand at the middle of its hour.

    Args:
        day: 24 relative loads.
        harmonics: Pairs of a cosine and a sine beside the mean.

    Returns:
        (mean, cos 1, sin 1, cos 2, sin 2, ...).
    """
    angle = 2.0 * np.pi * (np.arange(DAY_H) + 0.5) / DAY_H
    columns = [np.ones(DAY_H)]
    for k in range(1, harmonics + 1):
        columns += [np.cos(k * angle), np.sin(k * angle)]
    coefficients, *_ = np.linalg.lstsq(np.column_stack(columns), np.asarray(day, dtype=float), rcond=None)
    return tuple(round(float(c), 4) for c in coefficients)


if __name__ == "__main__":
    sys.exit(main())
