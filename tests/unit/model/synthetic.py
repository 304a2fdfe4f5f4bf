"""Cells and studies of servers that follow a model exactly, or with a known noise."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import polars as pl

from bayop.model.cells import Array, Cells
from bayop.model.grey_box import Reference
from bayop.model.published import Parameters
from bayop.optimize.grey_box.prior import AnalyticPrior
from bayop.slo import Slo

SLO = Slo.parse("p99<1s")
DELAYS_US = (20.0, 50.0, 100.0, 200.0, 300.0, 400.0)
FREQUENCIES_GHZ = (1.3, 1.7, 2.1, 2.5, 2.9)
LOADS_QPS = (200e3, 400e3, 600e3)
TYPICAL_DELAY_US = 60.0

TRUTH = {
    200e3: Parameters(zeta=87.0, alpha=-0.47, phi=1.1, gamma=-12.8, beta=0.7),
    400e3: Parameters(zeta=250.0, alpha=0.6, phi=1.05, gamma=-12.7, beta=0.8),
    600e3: Parameters(zeta=760.0, alpha=1.3, phi=0.9, gamma=-12.6, beta=0.9),
}


def settings() -> Cells:
    """All settings at all loads, with nothing measured."""
    points = np.array(list(itertools.product(LOADS_QPS, DELAYS_US, FREQUENCIES_GHZ)))
    unknown = np.full(len(points), np.nan)
    qps, delay_us, freq_ghz = points.T
    return Cells(SLO, qps, delay_us, freq_ghz, unknown, unknown, unknown, unknown)


def published_cells(truth: Mapping[float, Parameters] = TRUTH, *, noise: float = 0.0, seed: int = 0) -> Cells:
    """What a server that follows Eqs. 1-3 would show, with log-normal noise."""
    at = settings()
    rng = np.random.default_rng(seed)
    parts = [at.rows(at.qps == load) for load in truth]

    def measured(method: str) -> Array:
        exact = np.concatenate([getattr(p, method)(part) for p, part in zip(truth.values(), parts, strict=True)])
        return np.asarray(exact * np.exp(rng.normal(0.0, noise, len(exact))))

    columns = {name: np.concatenate([getattr(p, name) for p in parts]) for name in ("qps", "delay_us", "freq_ghz")}
    unknown = np.full(len(columns["qps"]), np.nan)
    latency, energy = measured("latency_us"), measured("energy_per_interrupt_j")
    return Cells(
        SLO, latency_us=latency, power_w=unknown, utilization=unknown, energy_per_interrupt_j=energy, **columns
    )


def grey_box_theta() -> Array:
    """Parameters near the prior's mean, and not at it."""
    prior = AnalyticPrior(SLO.quantile, TYPICAL_DELAY_US)
    shift = np.array([0.3, -0.1, 0.05, 0.8, 0.3, 0.2, 0.4, 0.5, 0.02, 0.1, 0.1, -0.4, 0.3, -0.2])
    return np.asarray(prior.mean + shift)


def grey_box_cells(*, noise: float = 0.0, seed: int = 0) -> Cells:
    """What a server that follows the prior model would show."""
    at = settings()
    values = np.exp(
        AnalyticPrior(SLO.quantile, TYPICAL_DELAY_US).evaluate(grey_box_theta(), Reference.of(at).inputs(at))
    )
    values = values * np.exp(np.random.default_rng(seed).normal(0.0, noise, values.shape))
    unknown = np.full(len(at), np.nan)
    return Cells(SLO, at.qps, at.delay_us, at.freq_ghz, values[1], values[2], values[0], unknown)


def study_of(cells: Cells, *, os: str = "linux") -> pl.DataFrame:
    """The cells as a study of the project's schema."""
    rate = 1e6 / cells.delay_us
    return pl.DataFrame(
        {
            "study": "made_up",
            "trial": np.arange(len(cells)),
            "target": "study",
            "machine": "made-up",
            "os": os,
            "app": "memcached",
            "qps_offered": cells.qps,
            "asked.nic.rx_usecs": cells.delay_us,
            "asked.cpu.freq_mhz": np.round(cells.freq_ghz * 1000.0),
            "p99_us": cells.latency_us,
            "interrupts_per_s": rate,
            "power_w": cells.energy_per_interrupt_j * rate,
        }
    )
