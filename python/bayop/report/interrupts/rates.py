"""Rates over time, from the bins of a summary."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from bayop.interrupts.summary import Summary

Real = NDArray[np.float64]
_LEAST_SAMPLES: Final = 8


@dataclass(frozen=True, slots=True)
class Rates:
    """What happened in each bin, per second of what its records speak for; NaN where they say nothing.

    Attributes:
        start_s: When the bin begins, since the first record of the log.
    """

    COLUMNS: ClassVar = (
        "start_s", "width_s", "interrupts_per_s", "spacing_us", "rx_bytes_per_s", "tx_bytes_per_s", "power_w",
        "instructions_per_s", "llc_misses_per_s", "utilization", "freq_mhz",
    )  # fmt: skip

    start_s: Real
    width_s: Real
    interrupts_per_s: Real
    spacing_us: Real
    rx_bytes_per_s: Real
    tx_bytes_per_s: Real
    power_w: Real
    instructions_per_s: Real
    llc_misses_per_s: Real
    utilization: Real
    freq_mhz: Real

    def rows(self) -> Iterator[tuple[float, ...]]:
        """Bin after bin, in the order of `COLUMNS`."""
        return zip(*(column.tolist() for column in astuple(self)), strict=True)


def rates_of(summary: Summary) -> Rates:
    """The rates of a log, over stretches of at least eight samples: RAPL's updates beat with the samples."""
    bins, layout = summary.bins, summary.layout
    interval = summary.sampled_ticks / max(summary.intervals, 1)
    together = max(1, math.ceil(_LEAST_SAMPLES * interval / 2**bins.exponent))
    firsts = np.arange(0, len(bins.rows), together)

    def sums(name: str) -> NDArray[np.int64]:
        return np.add.reduceat(bins.sums(name), firsts)

    gap_s = sums("gap_ticks") / layout.tick_hz
    sampled_s = sums("sampled_ticks") / layout.tick_hz
    interrupts_per_s = _per(sums("interrupts"), gap_s)
    ref_cycles = sums("ref_cycles").astype(np.float64)
    starts = (bins.ticks()[firsts] - bins.first_tick) / layout.tick_hz
    return Rates(
        start_s=starts,
        width_s=np.full(len(starts), together * 2**bins.exponent / layout.tick_hz),
        interrupts_per_s=interrupts_per_s,
        spacing_us=1e6 / interrupts_per_s,
        rx_bytes_per_s=_per(sums("rx_bytes"), gap_s),
        tx_bytes_per_s=_per(sums("tx_bytes"), gap_s),
        power_w=_per(sums("energy_units") * layout.energy_unit_j, sampled_s),
        instructions_per_s=_per(sums("instructions"), sampled_s),
        llc_misses_per_s=_per(sums("llc_misses"), sampled_s),
        utilization=_per(ref_cycles / layout.tsc_hz, sampled_s),
        freq_mhz=_per(sums("cycles") * (layout.tsc_hz / 1e6), ref_cycles),
    )


def _per(amounts: NDArray[np.int64] | NDArray[np.floating[Any]], of: Real) -> Real:
    shares: Real = np.divide(amounts, of, out=np.full(len(of), np.nan), where=of > 0)
    return shares
