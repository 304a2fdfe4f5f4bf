"""How far a running counter advanced between samples, when it may have wrapped in between."""

from __future__ import annotations

from typing import Final

import numpy as np

from bayop.interrupts.batch import BadRecordError
from bayop.interrupts.histogram import Whole
from bayop.interrupts.layout import Layout

_MOST_PER_S: Final = {"instructions": 1e11, "cycles": 1e10, "ref_cycles": 1e10, "llc_misses": 1e10}
"""More than any core does; what advances faster has not advanced, it ran backwards."""
_MOST_POWER_W: Final = 10_000.0
_LEAST_INTERVAL_S: Final = 0.001
"""Counters are read one after the other, and RAPL updates about every millisecond: an interval is not exact."""


def advance(layout: Layout, column: str, values: Whole, ticks: Whole, rows: Whole) -> Whole:
    """The steps of a sampled column from each sample to the next.

    A counter of b bits that reads less than before has wrapped: its step is the difference modulo 2^b. RAPL's 32-bit
    energy counter does so every 65 kJ, ten minutes of a busy server. A step that no machine can make in the time says
    that the counter ran backwards instead.

    Args:
        layout: What the numbers mean.
        column: Which of the sampled columns.
        values: Its values.
        ticks: The time between each two of them.
        rows: Where the samples stand in their piece, for the error.

    Raises:
        BadRecordError: the counter runs backwards.
    """
    if column in layout.idle_states and layout.idle_meaning == "entries_per_record":
        return values[1:]
    steps = np.diff(values)
    bits = layout.bits(column)
    if bits is not None:
        steps &= (1 << bits) - 1
    bad = np.flatnonzero((steps < 0) | (steps > _most(layout, column, ticks)))
    if len(bad):
        at = int(bad[0])
        raise BadRecordError(
            int(rows[at + 1]), column, f"{column} must not run backwards, nor faster than a machine can",
            value=int(values[at + 1]), hint=f"the sample before has {int(values[at])}",
        )  # fmt: skip
    return steps


def _most(layout: Layout, column: str, ticks: Whole) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if column in layout.idle_states:
        return np.full(len(ticks), np.inf)
    most_per_s = _MOST_POWER_W / layout.energy_unit_j if column == "energy_units" else _MOST_PER_S[column]
    return most_per_s * (ticks / layout.tick_hz + _LEAST_INTERVAL_S)
