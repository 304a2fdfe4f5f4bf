"""What a day costs at best and if nothing is done: the least power under the SLO, and the default's, by load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from bayop.experiments.day.sweep import Effort, sweep_day
from bayop.load.curve import LoadCurve
from bayop.objective import Objective
from bayop.target.oracle import Oracle, Question

_LOADS: Final = 24
_LEAST: Final = 0.08
"""Loads down to this share of the peak are swept."""
_REQUESTS: Final = 400_000
_SEED: Final = 990_000


@dataclass(frozen=True, slots=True)
class Yardstick:
    """Powers at some loads, between which they are interpolated linearly.

    Attributes:
        qps: The loads, ascending, in requests/s.
        default_w: Power of the default.
        bound_w: Power of the best static setting, from the sweep of `bayop demo`'s bound.
    """

    qps: tuple[float, ...]
    default_w: tuple[float, ...]
    bound_w: tuple[float, ...]

    @classmethod
    def measure(cls, oracle: Oracle, objective: Objective, peak_qps: float, *, threads: int) -> Yardstick:
        """Sweeps every load."""
        loads = tuple(map(float, np.linspace(_LEAST * peak_qps, peak_qps, _LOADS)))
        questions = [Question(qps, None, _SEED) for qps in loads]
        default = oracle.answer(questions, requests=_REQUESTS, threads=threads)
        books, _ = sweep_day(
            oracle, "linux", LoadCurve("loads", loads), objective, seed=_SEED, effort=Effort.usual(threads)
        )
        bound = tuple(books.power_of(window) for window in books.windows)
        return cls(loads, tuple(m["power_w"] for m in default), bound)

    def mean_w(self, qps: Sequence[float]) -> tuple[float, float]:
        """Mean power of the default and of the bound under a curve of loads that last equally long."""
        default, bound = (np.interp(qps, self.qps, watts) for watts in (self.default_w, self.bound_w))
        return float(default.mean()), float(bound.mean())
