"""The exhaustive sweep of every hour: the map that searches are drawn on, and the bound that they are measured by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import RegularGridInterpolator

from bayop.control.ledger import Ledger, LedgerWindow
from bayop.experiments.day.record import MapRecord
from bayop.load.curve import LoadCurve
from bayop.measurement import Measurement
from bayop.objective import Objective
from bayop.space import FREQ_MHZ, RX_USECS, Setting, Space
from bayop.target.oracle import Oracle, Question
from bayop.units import HOUR_S

Array = NDArray[np.float64]

_GRID_REQUESTS: Final = 30_000
_FINAL_REQUESTS: Final = 120_000
_DELAYS: Final = 11
_LONGEST_DELAY: Final = 1.1
# The finalists, measured with longer windows: at each of the most promising frequencies some delays from the one with
# the least latency (0) to the one with the best objective (1). Latency is convex between two measured delays, so
# interpolation overstates it: settings that look too slow by this factor are tried as well.
_FINAL_FREQUENCIES: Final = 4
_FINAL_DELAYS: Final = (0.25, 0.5, 0.75, 0.88, 0.95, 1.0)
_DOUBT: Final = 1.1


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is modelled for a sweep.

    Attributes:
        requests: Length of a window of the coarse grid.
        final_requests: Length of a window of the finalists.
        threads: Windows that are modelled at once.
    """

    requests: int
    final_requests: int
    threads: int

    @classmethod
    def usual(cls, threads: int) -> Effort:
        """What resolves the twin's settings to less than a search is judged by."""
        return cls(_GRID_REQUESTS, _FINAL_REQUESTS, threads)


def sweep_day(
    oracle: Oracle,
    os: str,
    curve: LoadCurve,
    objective: Objective,
    *,
    seed: int,
    effort: Effort,
    on_hour: Callable[[int], None] = lambda _: None,
) -> tuple[Ledger, list[MapRecord]]:
    """Sweeps every hour of the curve; equal loads share a sweep.

    Returns:
        The books of a day in which the best static setting of each hour was known, and a map of each hour.
    """
    books = Ledger()
    maps: list[MapRecord] = []
    by_load: dict[float, tuple[LedgerWindow, MapRecord]] = {}
    for hour, qps in enumerate(curve.hourly_qps):
        if qps not in by_load:
            by_load[qps] = _sweep(oracle, os, qps, objective, seed=seed, effort=effort)
        window, map_ = by_load[qps]
        books.add(replace(window, start_s=hour * HOUR_S))
        maps.append(replace(map_, hour=hour))
        on_hour(hour)
    return books, maps


def _sweep(
    oracle: Oracle, os: str, qps: float, objective: Objective, *, seed: int, effort: Effort
) -> tuple[LedgerWindow, MapRecord]:
    delays, frequencies = grid_axes(oracle.space, objective.slo.limit_us)
    grid: list[Setting] = [{RX_USECS: d, FREQ_MHZ: f} for d in delays for f in frequencies]
    answers = oracle.answer([Question(qps, s, seed) for s in grid], requests=effort.requests, threads=effort.threads)
    finalists = _finalists(oracle.space, (delays, frequencies), answers, objective)
    verified = oracle.answer(
        [Question(qps, s, seed + 1) for s in finalists], requests=effort.final_requests, threads=effort.threads
    )
    best, measurement, feasible = _choose(finalists, verified, objective)
    slo = objective.slo

    def rows(name: str) -> tuple[tuple[float, ...], ...]:
        values = [m[name] for m in answers]
        return tuple(tuple(values[i : i + len(frequencies)]) for i in range(0, len(values), len(frequencies)))

    window = LedgerWindow.of(measurement, slo, start_s=0.0, duration_s=HOUR_S, phase="hold", setting=best, qps=qps)
    map_ = MapRecord(
        os=os,
        hour=0,
        qps=qps,
        rx_usecs=delays,
        freq_mhz=frequencies,
        power_w=rows("power_w"),
        latency_us=rows(slo.quantity),
        best=best if feasible else None,
    )
    return window, map_


def grid_axes(space: Space, limit_us: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Interrupt delays, denser where they are short, rounded to the hardware's steps; and every frequency.

    A request can wait for a whole delay, so delays far beyond the SLO's limit are left out.
    """
    delays = space[RX_USECS].numbers()
    longest = max(min(delays[-1], _LONGEST_DELAY * limit_us), delays[min(_DELAYS, len(delays)) - 1])
    positions = delays[0] + (longest - delays[0]) * np.linspace(0.0, 1.0, _DELAYS) ** 1.5
    return tuple(sorted({min(delays, key=lambda d: abs(d - w)) for w in positions})), space[FREQ_MHZ].numbers()


def _finalists(
    space: Space, axes: tuple[Sequence[float], Sequence[float]], answers: Sequence[Measurement], objective: Objective
) -> list[Setting]:
    """The most promising settings of the hardware's whole lattice, by interpolating the sweep.

    The logarithm of each quantity is interpolated linearly.
    """
    delays = np.array([d for d in space[RX_USECS].numbers() if axes[0][0] <= d <= axes[0][-1]])
    frequencies = np.array(axes[1])
    cost, latency = _on_lattice(axes, answers, objective, (delays, frequencies))
    rank = np.where(latency < objective.slo.limit_us * _DOUBT, cost, np.inf) if objective.constrained else cost
    if not np.isfinite(rank).any():
        rank = latency
    best, fastest = np.argmin(rank, axis=0), np.argmin(latency, axis=0)
    by_rank = np.argsort(rank[best, np.arange(len(frequencies))])[:_FINAL_FREQUENCIES]
    return [
        {RX_USECS: float(delays[d]), FREQ_MHZ: float(frequencies[f])}
        for f in sorted(by_rank)
        for d in sorted({round(fastest[f] + share * (best[f] - fastest[f])) for share in _FINAL_DELAYS})
    ]


def _on_lattice(
    axes: tuple[Sequence[float], Sequence[float]],
    answers: Sequence[Measurement],
    objective: Objective,
    lattice: tuple[Array, Array],
) -> tuple[Array, Array]:
    """Objective and latency on the lattice; the logarithm of each quantity is interpolated linearly."""
    names = sorted(objective.quantities | {objective.slo.quantity})
    logs = np.log([[m[name] for name in names] for m in answers]).reshape(len(axes[0]), len(axes[1]), len(names))
    at = np.stack(np.meshgrid(*lattice, indexing="ij"), axis=-1)
    values = np.exp(RegularGridInterpolator(axes, logs)(at))
    by_name = {name: values[..., i] for i, name in enumerate(names)}
    return np.asarray(objective.value(by_name), dtype=np.float64), by_name[objective.slo.quantity]


def _choose(
    finalists: Sequence[Setting], verified: Sequence[Measurement], objective: Objective
) -> tuple[Setting, Measurement, bool]:
    """The best finalist by its own measurement; the least latency when none meets the SLO."""
    slo = objective.slo
    pairs = list(zip(finalists, verified, strict=True))
    good = [p for p in pairs if not objective.constrained or slo.met_by(p[1])]
    if not good:
        return (*min(pairs, key=lambda p: p[1][slo.quantity]), False)
    return (*min(good, key=lambda p: objective.of(p[1])), True)
