"""Random servers and loads, drawn from the twin's parameter space and not from any machine that was measured."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from bayop import _core
from bayop.slo import Slo
from bayop.space import Setting
from bayop.twin.profile_library import load_profile, parse_profile
from bayop.twin.target import profile_space
from bayop.twin.windows import simulate, simulation_run

_PROBE_REQUESTS = 20_000


@dataclass(frozen=True, slots=True)
class Case:
    """One server under one load with one SLO."""

    seed: int
    profile: _core.Profile
    qps: float
    slo: Slo
    summary: str


def draw_case(seed: int) -> Case:
    """The server, load and SLO of one seed."""
    rng = np.random.default_rng([0xBA70, seed])
    profile, summary = _draw_profile(rng, seed)
    load = rng.uniform(0.10, 0.85)
    qps = _qps_at_utilization(profile, load)
    fastest_us = _fastest(profile, qps)["p99_us"]
    # Most SLOs can be met, some can't; all lie between 100 us and 20 ms.
    limit_us = float(np.clip(fastest_us * np.exp(rng.uniform(np.log(0.7), np.log(10.0))), 100.0, 20_000.0))
    slo = Slo(0.99, round(limit_us))
    return Case(seed, profile, qps, slo, f"{summary}, {load:.0%} load, {slo}")


def _draw_profile(rng: np.random.Generator, seed: int) -> tuple[_core.Profile, str]:
    base = load_profile(str(rng.choice(["linux-memcached", "ebbrt-memcached"])))
    mhz = _draw_frequencies(rng)
    text = re.sub(r"freq_mhz = \[[^]]*\]", f"freq_mhz = {mhz}", base.to_toml())
    base = parse_profile(text, source=f"random server {seed}")
    numbers = base.values()
    cores = int(2 * round(np.exp(rng.uniform(np.log(2), np.log(32)))))
    service_us = float(np.exp(rng.uniform(np.log(4.0), np.log(1500.0))))
    memory_share = rng.uniform(0.02, 0.5)
    kcycles = service_us * max(mhz) / 1000.0
    step = float(rng.choice([1, 2, 4, 8, 16]))
    busy_w = rng.uniform(2.0, 12.0)
    values: dict[str, float | str] = {
        "machine.cores": float(cores),
        "machine.frequency_domain_cores": float(cores),
        "machine.nic.rx_usecs_min": step,
        "machine.nic.rx_usecs_step": step,
        "machine.nic.rx_usecs_max": step * round(rng.uniform(250, 1000) / step),
        "machine.nic.rx_usecs_tick_factor": rng.uniform(1.0, 1.05),
        "machine.power.static_w": float(np.exp(rng.uniform(np.log(10), np.log(150)))),
        "machine.power.busy_core_at_max_freq_w": busy_w,
        "machine.power.halted_core_at_max_freq_w": busy_w * rng.uniform(0.05, 0.5),
        "machine.power.frequency_exponent": rng.uniform(1.5, 3.0),
        "app.request_kcycles": kcycles * (1 - memory_share),
        "app.request_us": service_us * memory_share,
        "app.service_exponential_share": rng.uniform(0.05, 1.0),
        "app.connections": float(80 * cores),
        "app.per_connection_kcycles": numbers["app.per_connection_kcycles"] * rng.uniform(0.0, 1.0),
        "app.network_us": rng.uniform(5.0, 60.0),
        "os.interrupt_kcycles": numbers["os.interrupt_kcycles"] * rng.uniform(0.5, 2.0),
        "os.idle_loop_us": numbers["os.idle_loop_us"] * rng.uniform(0.0, 1.0),
        "os.idle_governor": str(rng.choice(["menu", "deepest", "shallowest"])),
    }
    for key in numbers:
        if key.endswith(".wake_us"):
            values[key] = numbers[key] * rng.uniform(0.5, 2.0)
    summary = (
        f"{base.name}: {cores} cores, {mhz[0]:g}-{mhz[-1]:g} MHz in {len(mhz)} steps, {service_us:.0f} us a request"
    )
    return base.with_values(values), summary


def _draw_frequencies(rng: np.random.Generator) -> list[float]:
    low, high = (100.0 * float(rng.integers(*ends)) for ends in ((8, 16), (22, 40)))
    if rng.random() < 0.25:
        return [low, 100.0 * round((low + high) / 200.0), high]
    return [float(f) for f in np.arange(low, high + 1, 100.0)]


def _fastest(profile: _core.Profile, qps: float) -> dict[str, float]:
    space = profile_space(profile)
    setting: Setting = {k.id: k.numbers()[0 if k.safest == "low" else -1] for k in space.knobs}
    run = simulation_run(profile, setting, load=qps, requests=_PROBE_REQUESTS, seed=1)
    return dict(simulate(profile, [run], threads=1)[0].quantities)


def _qps_at_utilization(profile: _core.Profile, utilization: float) -> float:
    """The load that keeps the cores this busy at the fastest setting, by bisection on the logarithm."""
    low, high = np.log(100.0), np.log(2e7)
    for _ in range(14):
        middle = (low + high) / 2
        busy = _fastest(profile, float(np.exp(middle)))["utilization"] >= utilization
        low, high = (low, middle) if busy else (middle, high)
    return float(np.exp(low))


def sweep_settings(profile: _core.Profile) -> list[Setting]:
    """An exhaustive sweep's settings: up to 12 frequencies x 16 delays that grow with their size."""
    delay, frequency = profile_space(profile).knobs
    return [
        {delay.id: d, frequency.id: f} for d in spread(delay.numbers(), 16) for f in spread(frequency.numbers(), 12)
    ]


def spread(values: tuple[float, ...], count: int) -> list[float]:
    """At most `count` of the values, evenly spread over a scale that is linear in small, logarithmic in large ones."""
    if len(values) <= count:
        return list(values)
    bend = values[-1] / 10.0
    scale = np.log1p(np.array(values) / bend)
    positions = np.linspace(scale[0], scale[-1], count)
    return [values[i] for i in sorted({int(np.abs(scale - w).argmin()) for w in positions})]
