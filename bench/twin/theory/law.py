"""What theory says, what the twin shows, and whether they agree."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import stats

from bayop import _core

MEAN_BAR: Final = 0.01
"""Greatest error of a mean, as a part of it."""
P99_BAR: Final = 0.02
"""The same of a 99th percentile."""
EXACT_BAR: Final = 1e-6
"""The same of what must hold in every single window, such as that parts sum to the whole."""
WIDEST_CONFIDENCE: Final = 0.05
"""A mean that is known less well proves nothing."""

Read = Callable[[Sequence["_core.Measurement"]], float]
"""A quantity from the windows of one seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """What theory says of one quantity.

    Attributes:
        quantity: Its name and unit.
        theory: What theory says.
        read: The quantity from the windows of a seed.
        bar: Greatest error, as a part of the theory.
        exact: Whether each seed must be within the bar, rather than their mean.
    """

    quantity: str
    theory: float
    read: Read
    bar: float = MEAN_BAR
    exact: bool = False

    def error(self, value: float) -> float:
        """How far a value is from the theory, as a part of it."""
        return (value - self.theory) / self.theory


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A server and a load that theory knows.

    Attributes:
        what: Server, load and what matters of both.
        profile: The server.
        windows: The load, and how long; seeds are added.
        laws: What theory says.
    """

    what: str
    profile: _core.Profile
    windows: tuple[_core.Run, ...]
    laws: tuple[Law, ...]

    def runs(self, seed: int) -> list[_core.Run]:
        """The windows of a seed, with random numbers that no other experiment and no other seed has."""
        first = zlib.crc32(self.what.encode()) * 2**32 + seed * len(self.windows)
        return [{**run, "profile": self.profile, "seed": first + index} for index, run in enumerate(self.windows)]


@dataclass(frozen=True, slots=True)
class Row:
    """One quantity of one experiment.

    Attributes:
        what: See Experiment.
        quantity: See Law.
        theory: In words.
        twin: Mean over the seeds; of an exact law, the worst.
        error_pct: How far that is from the theory.
        confidence_pct: Half of the width of the mean's 95 % confidence interval (Student's t); None of an exact law.
        holds: Whether the error is within the law's bar, or within the confidence, which must be useful.
    """

    what: str
    quantity: str
    theory: str
    twin: float
    error_pct: float
    confidence_pct: float | None
    holds: bool


def row(what: str, law: Law, values: Sequence[float]) -> Row:
    """A law against one value for every seed."""
    if law.exact:
        worst = max(values, key=lambda value: abs(law.error(value)))
        error = law.error(worst)
        return Row(what, law.quantity, figures(law.theory), worst, 100 * error, None, abs(error) <= law.bar)
    mean = float(np.mean(values))
    t = float(stats.t.ppf(0.975, len(values) - 1))
    confidence = t * float(np.std(values, ddof=1)) / math.sqrt(len(values)) / mean
    error = law.error(mean)
    holds = abs(error) <= max(law.bar, confidence) and confidence <= WIDEST_CONFIDENCE
    return Row(what, law.quantity, figures(law.theory), mean, 100 * error, 100 * confidence, holds)


def measure(experiments: Sequence[Experiment], *, seeds: int, seed: int, threads: int) -> Iterator[Row]:
    """Simulates every experiment with so many seeds, from the first one on, all in one batch."""
    assert len({e.what for e in experiments}) == len(experiments), "experiments share random numbers"
    runs = [run for e in experiments for index in range(seeds) for run in e.runs(seed + index)]
    windows = iter(_core.simulate(experiments[0].profile, runs, threads=threads))
    for e in experiments:
        samples = [[next(windows) for _ in e.windows] for _ in range(seeds)]
        yield from (row(e.what, law, [law.read(sample) for sample in samples]) for law in e.laws)


def figures(value: float) -> str:
    """Five significant figures, thousands written out."""
    return f"{value:.5g}" if abs(value) < 1e5 else f"{value:.0f}"
