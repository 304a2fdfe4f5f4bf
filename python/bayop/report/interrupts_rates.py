"""Rates over time, from the bins of a summary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bayop.interrupts.summary import Summary

Real = NDArray[np.float64]


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
    """The rates of a log."""
    bins, layout = summary.bins, summary.layout
    gap_s = bins.sums("gap_ticks") / layout.tick_hz
    sampled_s = bins.sums("sampled_ticks") / layout.tick_hz
    interrupts_per_s = _per(bins.sums("interrupts"), gap_s)
    ref_cycles = bins.sums("ref_cycles").astype(np.float64)
    starts = (bins.ticks() - bins.first_tick) / layout.tick_hz
    return Rates(
        start_s=starts,
        width_s=np.full(len(starts), 2**bins.exponent / layout.tick_hz),
        interrupts_per_s=interrupts_per_s,
        spacing_us=1e6 / interrupts_per_s,
        rx_bytes_per_s=_per(bins.sums("rx_bytes"), gap_s),
        tx_bytes_per_s=_per(bins.sums("tx_bytes"), gap_s),
        power_w=_per(bins.sums("energy_units") * layout.energy_unit_j, sampled_s),
        instructions_per_s=_per(bins.sums("instructions"), sampled_s),
        llc_misses_per_s=_per(bins.sums("llc_misses"), sampled_s),
        utilization=_per(ref_cycles / layout.tsc_hz, sampled_s),
        freq_mhz=_per(bins.sums("cycles") * (layout.tsc_hz / 1e6), ref_cycles),
    )


def _per(amounts: NDArray[np.int64] | Real, of: Real) -> Real:
    return np.divide(amounts, of, out=np.full(len(of), np.nan), where=of > 0)
