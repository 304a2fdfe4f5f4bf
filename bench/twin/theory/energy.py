"""Where time and energy go: nothing is lost at the edges of a window."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final

from bayop import _core
from bayop.space import FREQ_MHZ, RX_USECS
from bayop.twin.profile_library import load_profile, polling

from .law import Experiment, Law
from .server import exact, law, load, server

_SETTLE: Final = "machine.idle_states.0.settle_us"
_CORES: Final = 16
_FIXED: Final = {RX_USECS: 50.0, FREQ_MHZ: 2000.0}
_STATIC_W: Final = 10.0
_SETTLED_W: Final = 0.5
"""As `bare.toml` has them."""
_HALTED_W: Final = 3.0
"""At half of the greatest frequency, whose square counts."""
_SETTLE_US: Final = 20_000.0
_WARMUP_S: Final = 0.05
"""Of the rows of power: cores settle within the warm-up, but most of their idle periods last longer than it."""


def _busy_w(exponent: float = 2.0) -> float:
    """A busy core of `bare.toml` at half of the greatest frequency."""
    return 2.0 + 8.0 * math.pow(0.5, exponent)


def experiments() -> Iterator[Experiment]:
    """Conservation in windows of any length, and power in closed form."""
    for dispatch in ("steered", "run-to-completion"):
        for service_us, qps, warmup_s in ((50.0, 100.0, 0.1), (42_000.0, 100.0, 2.0), (1e6, 4.0, 60.0)):
            yield _conserved(dispatch, service_us, qps, warmup_s)
        for length_s, windows in ((0.001, 400), (0.1, 40), (1.0, 10)):
            yield _power(dispatch, length_s, windows)
    for name, qps in (("linux-memcached", 100.0), ("ebbrt-memcached", 400_000.0), ("linux-xapian", 500.0)):
        for setting in (_FIXED, {}):
            yield _conserved_profile(name, {"qps": qps}, setting, f"{qps:g} requests/s")
    yield _conserved_profile("linux-netpipe", {"message_bytes": 65_536.0}, _FIXED, "64 KB a message")
    for exponent in (0.0, 1.0, 2.0, 3.0):
        yield _polling(exponent)


def _time(window: _core.Measurement) -> float:
    return window["utilization"] + sum(window["idle_residency"].values())


def _parts(window: _core.Measurement) -> float:
    parts = window["energy_parts_j"]
    total_j = parts["static"] + parts["busy"] + parts["halted"] + parts["settled"]
    return total_j / (window["power_w"] * window["duration_s"])


_TIME: Final = exact("utilization + residencies", 1.0, _time)
_PARTS: Final = exact("parts of the energy / the whole", 1.0, _parts)


def _conserved(dispatch: str, service_us: float, qps: float, warmup_s: float) -> Experiment:
    """A core is busy or asleep, and at once as deeply as can be: time says what energy must be."""

    def by_time(window: _core.Measurement) -> float:
        asleep = sum(window["idle_residency"].values())
        power_w = _STATIC_W + _CORES * (window["utilization"] * _busy_w() + asleep * _SETTLED_W)
        return power_w / window["power_w"]

    lengths_s = (0.001,) * 20 + (0.1,) * 10 + (1.0,) * 5
    return Experiment(
        what=f"{qps:g} requests/s of {service_us / 1000.0:g} ms, {dispatch}, windows of 1 ms, 0.1 s and 1 s",
        profile=server({"os.dispatch": dispatch, _SETTLE: 0.0}, cores=_CORES, request_us=service_us),
        windows=tuple(load(qps, duration_s=length_s, warmup_s=warmup_s) for length_s in lengths_s),
        laws=(_TIME, exact("power by time / power", 1.0, by_time)),
    )


def _conserved_profile(name: str, load_by: _core.Run, setting: Mapping[str, float], words: str) -> Experiment:
    lengths_s = (0.001,) * 5 + (0.1,) * 2 + (0.5,)
    policy = "fixed" if setting else "default policy"
    return Experiment(
        what=f"{name}, {words}, {policy}, windows of 1 ms to 0.5 s",
        profile=load_profile(name),
        windows=tuple({**load_by, "duration_s": s, "warmup_s": 0.1, "setting": setting} for s in lengths_s),
        laws=(_TIME, _PARTS),
    )


def _power(dispatch: str, length_s: float, windows: int) -> Experiment:
    """Idle periods are exponential: a core is still settling for `1 - exp(-rate settle)` of its idle time.

    They end when the core's own vector fires and, where requests are steered, when one comes from another core, which
    is all but one in so many as there are cores.
    """
    service_us, qps = 50.0, 100.0
    busy = 1e-6 * qps * service_us / _CORES
    rate = qps / _CORES * (2.0 - 1.0 / _CORES if dispatch == "steered" else 1.0)
    settled = math.exp(-1e-6 * rate * _SETTLE_US)
    idle_w = (1.0 - settled) * _HALTED_W + settled * _SETTLED_W
    theory_w = _STATIC_W + _CORES * (busy * _busy_w() + (1.0 - busy) * idle_w)
    values: dict[str, float | str] = {"os.dispatch": dispatch, _SETTLE: _SETTLE_US}
    return Experiment(
        what=f"power at {qps:g} requests/s, {dispatch}, windows of {length_s:g} s",
        profile=server(values, cores=_CORES, request_us=service_us),
        windows=(load(qps, duration_s=length_s, warmup_s=_WARMUP_S),) * windows,
        laws=(law("power, W", "power_w", theory_w),),
    )


def _polling(exponent: float) -> Experiment:
    theory_w = _STATIC_W + _CORES * _busy_w(exponent)
    laws: tuple[Law, ...] = (exact("power, W", theory_w, lambda window: window["power_w"]),)
    if exponent == 2.0:
        laws += (exact("utilization", 1.0, lambda window: window["utilization"]),)
    profile = server({"machine.power.frequency_exponent": exponent}, cores=_CORES, request_us=50.0)
    return Experiment(
        what=f"polling at half of the greatest frequency, exponent {exponent:g}",
        profile=polling(profile),
        windows=tuple(load(qps, duration_s=0.1) for qps in (10.0, 100_000.0)),
        laws=laws,
    )
