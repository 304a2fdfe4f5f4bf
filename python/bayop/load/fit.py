"""Fits the shape of a day to traces: how the built-in curves were made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayop.errors import InputError
from bayop.load.curve import DAY_H

HARMONICS = 3


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
