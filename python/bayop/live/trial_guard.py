"""The guard of a trial on a live machine: clients do not wait for a window to end when its setting hurts them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bayop.errors import InputError
from bayop.slo import Slo, quantile_of

LATENCY_FACTOR: Final = 3.0
"""A latency of so many times a limit of the SLO ends a trial."""

LOAD_BAND: Final = 0.2
"""So far from the offered load, as a share of it, and a window is about something else."""

_CHANCE: Final = 4.0
"""Standard deviations that chance may add: where n requests of a Poisson process are due, n - sqrt(n) may well come."""


@dataclass(frozen=True, slots=True)
class TrialGuard:
    """Says when a trial has to end.

    Attributes:
        slo: The latency objective that is guarded.
        latency_factor: How many times a limit of the SLO is too much.
        load_band: How far the load may be from what the search is for, as a share of it; None for any load.

    Raises:
        InputError: a factor below 1, or a band that is none.
    """

    slo: Slo
    latency_factor: float = LATENCY_FACTOR
    load_band: float | None = LOAD_BAND

    def __post_init__(self) -> None:
        if not 1.0 <= self.latency_factor < float("inf"):
            raise InputError(
                "a guard's factor must be at least 1", value=self.latency_factor, parameter="latency_factor"
            )
        if self.load_band is not None and not 0.0 < self.load_band < 1.0:
            raise InputError(
                "a guard's band must be a share between 0 and 1", value=self.load_band, parameter="load_band"
            )

    def objection(self, quantities: Mapping[str, float], qps: float) -> str | None:
        """Why a trial has to end, for people; None when it may go on.

        Where a quantile below that of a limit is over it, that of the limit is too: few requests show it sooner.

        Args:
            quantities: Latency quantiles, and where they are known `qps` and `duration_s`, over which it was counted.
            qps: The load that the search is for.
        """
        for limit in self.slo.limits:
            limit_us = self.latency_factor * limit.limit_us
            over = {
                quantile: name
                for name, value in quantities.items()
                if (quantile := quantile_of(name)) is not None and quantile <= limit.quantile and value > limit_us
            }
            if over:
                name = over[max(over)]
                return f"{name.removesuffix('_us')} {quantities[name]:.0f} us, over {limit_us:.0f} us"
        return self.load_objection(quantities, qps)

    def load_objection(self, quantities: Mapping[str, float], qps: float) -> str | None:
        """Why a window is not about the load of the search; None when it is, or nobody knows."""
        load, duration_s = quantities.get("qps"), quantities.get("duration_s")
        if load is None or self.load_band is None:
            return None
        chance = _CHANCE * (qps / duration_s) ** 0.5 if duration_s else 0.0
        if abs(load - qps) <= self.load_band * qps + chance:
            return None
        return f"load {load:.0f} requests/s, not {qps:.0f}"
