"""How much power the emulated server draws; README.md states the same law.

Two instruments show it. The powercap zones follow how busy each CPU is; the ACPI power meter knows the P-states only
and reads as if every CPU were always busy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

UNCORE_W = 9.0
DRAM_W = 3.0
BOARD_W = 4.0
BUSY_DRAM_W = 0.5
BUSY_CORE_W = 1.5
BUSY_CORE_W_PER_GHZ2 = 2.5


@dataclass(frozen=True)
class CpuLoad:
    """What one CPU did on average.

    Args:
        busy_share: The share of time in which it was not idle, 0 to 1.
        freq_mhz: Its frequency.
    """

    busy_share: float
    freq_mhz: float


@dataclass(frozen=True)
class ZonePowers:
    """Average power of each powercap zone, in W."""

    package_w: float
    core_w: float
    dram_w: float
    psys_w: float


def zone_powers(cpus: Sequence[CpuLoad], *, limit_w: float | None = None) -> ZonePowers:
    """The power of the powercap zones.

    Args:
        cpus: Every CPU's load.
        limit_w: The lower one of package-0's two power limits; None when its `enabled` is 0.
    """
    core_w = sum(cpu.busy_share * (BUSY_CORE_W + BUSY_CORE_W_PER_GHZ2 * (cpu.freq_mhz / 1000) ** 2) for cpu in cpus)
    if limit_w is not None:
        core_w = min(core_w, limit_w - UNCORE_W)
    dram_w = DRAM_W + BUSY_DRAM_W * sum(cpu.busy_share for cpu in cpus)
    package_w = UNCORE_W + core_w
    return ZonePowers(package_w=package_w, core_w=core_w, dram_w=dram_w, psys_w=package_w + dram_w + BOARD_W)


def meter_power_w(freqs_mhz: Sequence[float]) -> float:
    """The reading of the ACPI power meter: what psys draws while every CPU is busy at its frequency."""
    return zone_powers([CpuLoad(busy_share=1.0, freq_mhz=freq_mhz) for freq_mhz in freqs_mhz]).psys_w
