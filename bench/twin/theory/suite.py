"""Every row, and the table of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain

from . import card, energy, frequency, queues, repeats, steering
from .law import EXACT_BAR, Row, figures, measure


def rows(*, seeds: int = 8, seed: int = 0, threads: int = os.cpu_count() or 1) -> Iterator[Row]:
    """Every law held against so many independent seeds, from the first one on."""
    subjects = (queues, steering, card, energy, frequency, repeats)
    experiments = list(chain.from_iterable(subject.experiments() for subject in subjects))
    yield from measure(experiments, seeds=seeds, seed=seed, threads=threads)
    yield repeats.same_on_any_threads(seed)


def table(some: Sequence[Row]) -> str:
    """Markdown."""
    lines = [
        "| what | quantity | theory | twin | error, % | confidence, % | holds |",
        "|---" * 7 + "|",
    ]
    return "\n".join([*lines, *(_line(row) for row in some)])


def _line(row: Row) -> str:
    holds = "yes" if row.holds else "**no**"
    numbers = f"{figures(row.twin)} | {_signed(row.error_pct)} | {_percent(row.confidence_pct)}"
    return f"| {row.what} | {row.quantity} | {row.theory} | {numbers} | {holds} |"


def _signed(pct: float) -> str:
    return "0" if abs(pct) < 100 * EXACT_BAR else f"{round(pct, 2) + 0.0:+.2f}"


def _percent(pct: float | None) -> str:
    return "-" if pct is None else f"{pct:.2f}"
