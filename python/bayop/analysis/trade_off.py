"""What is traded for what: latency for power in an open loop, time for energy in a closed one."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from bayop.analysis.conditions import is_closed_loop
from bayop.slo import Slo


@dataclass(frozen=True, slots=True)
class TradeOff:
    """Two quantities of which both should be small.

    Attributes:
        latency: What clients feel: a latency quantile, or the time of a round trip.
        cost: What the operator pays: power, or energy where the work is fixed and the time is not.
    """

    latency: str
    cost: str

    @property
    def quantities(self) -> tuple[str, str]:
        """Both, latency first."""
        return self.latency, self.cost


def trade_off_of(frame: pl.DataFrame, slo: Slo) -> TradeOff:
    """The trade-off that a study's trials are about.

    In an open loop the clients set the pace, so energy over a window is power; the SLO says which quantile counts. In a
    closed loop a slower server is at work for longer, so power alone would flatter it.
    """
    return TradeOff("roundtrip_us", "energy_j") if is_closed_loop(frame) else TradeOff(slo.quantity, "power_w")
