"""Frequencies: work is cycles, and ondemand follows the load."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from bayop import _core

from . import formulas
from .law import P99_BAR, Experiment
from .server import law, load, mean, rewritten, server

_LEAST_MHZ: Final = 1000.0
_GREATEST_MHZ: Final = 2000.0
_STEP_MHZ: Final = 5.0
_SAMPLE_MS: Final = 10.0
_UP_THRESHOLD: Final = 0.8


def experiments() -> Iterator[Experiment]:
    """Pinned frequencies, ondemand at low load, and a service that outlasts several of its samples."""
    for freq_mhz in (1000.0, 2000.0):
        yield _pinned(freq_mhz)
    for qps, requests in ((1.0, 1000), (10.0, 3000), (100.0, 10_000), (1000.0, 50_000)):
        yield _ondemand(qps, requests)
    for dispatch in ("steered", "run-to-completion"):
        yield _long_service(dispatch)


def ondemand_mhz(load_at_least: float) -> float:
    """Where ondemand settles below its threshold: `f = least + (greatest - least) load(f)`, of work in cycles."""
    span_mhz = _GREATEST_MHZ - _LEAST_MHZ
    return 0.5 * (_LEAST_MHZ + math.sqrt(_LEAST_MHZ**2 + 4.0 * span_mhz * load_at_least * _LEAST_MHZ))


def long_service_ms(work_ms: float) -> float:
    """Mean latency of requests that take `work_ms` at the least frequency and come one at a time.

    A request comes some time before the next sample, uniform over the period. Until then it runs at the least
    frequency; for a period at what ondemand makes of that part of a period as load; then at the greatest, because the
    core was fully loaded. At twice the least that makes half of work and period together, or less for a load above the
    threshold.
    """
    ratio = _GREATEST_MHZ / _LEAST_MHZ
    count = 10_000
    total_ms = 0.0
    for index in range(count):
        share = (index + 0.5) / count
        speed = ratio if share > _UP_THRESHOLD else 1.0 + share * (ratio - 1.0)
        left_ms = work_ms - share * _SAMPLE_MS - speed * _SAMPLE_MS
        total_ms += share * _SAMPLE_MS + _SAMPLE_MS + left_ms / ratio
    return total_ms / count


def _governed(request_kcycles: float, dispatch: str = "steered") -> _core.Profile:
    steps = [_LEAST_MHZ + _STEP_MHZ * n for n in range(int((_GREATEST_MHZ - _LEAST_MHZ) / _STEP_MHZ) + 1)]
    values: dict[str, float | str] = {
        "os.dispatch": dispatch,
        "os.frequency_governor": "ondemand",
        "os.frequency_sampling_us": 1000.0 * _SAMPLE_MS,
        "os.frequency_up_threshold_share": _UP_THRESHOLD,
    }
    profile = server(values, request_kcycles=request_kcycles, queue_limit=1000)
    return rewritten(profile, "freq_mhz", str(steps))


def _pinned(freq_mhz: float) -> Experiment:
    busy, kcycles = 0.5, 1000.0
    service_us = 1000.0 * kcycles / freq_mhz
    return Experiment(
        what=f"M/D/1 of {kcycles:g} kilocycles at {freq_mhz:g} MHz, load {busy}",
        profile=server(request_kcycles=kcycles),
        windows=(load(1e6 * busy / service_us, requests=500_000, freq_mhz=freq_mhz),),
        laws=(mean(formulas.mg1_mean(service_us, busy, 0.0)),),
    )


def _ondemand(qps: float, requests: int) -> Experiment:
    kcycles = 50.0
    return Experiment(
        what=f"ondemand, {qps:g} requests/s of {kcycles:g} kilocycles",
        profile=_governed(kcycles),
        windows=(load(qps, requests=requests, freq_mhz=None),),
        laws=(law("frequency, MHz", "freq_mhz", ondemand_mhz(1e-6 * qps * kcycles)),),
    )


def _long_service(dispatch: str) -> Experiment:
    work_ms = 42.0
    return Experiment(
        what=f"ondemand, one request of {work_ms:g} ms at the least frequency, {dispatch}",
        profile=_governed(1000.0 * work_ms, dispatch),
        windows=(load(0.1, requests=200, freq_mhz=None),),
        laws=(
            mean(1000.0 * long_service_ms(work_ms)),
            law("p95, us", "p95_us", 500.0 * (work_ms + _SAMPLE_MS), bar=P99_BAR),
        ),
    )
