"""Servers of an unknown physics: those of the population draw all that they are, those of a scenario all but that.

Everything comes from a generator that is seeded with the scenario's name and the server's number.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import replace
from typing import Final

import numpy as np
from bench.unknown.distortions import Bump, Cliff, Distortion, Drowning, Field, Ripple
from bench.unknown.physics import Array, Discipline, Physics, Power, Queueing, Work, log_uniform
from bench.unknown.servers import Server, Truth
from bench.unknown.traits import POPULATION, SCENARIOS, Traits, draw_traits

from bayop.domains import Steps
from bayop.slo import Slo
from bayop.space import FREQ_MHZ, RX_USECS, Knob, Space

# The p99 of the fastest setting, in us.
_FASTEST_US: Final = (10.0, 1e6)
# An island: the share of the settings that meet the SLO, and how far over it the fastest one is.
_ISLAND_SHARE: Final = (0.02, 0.15)
_ISLAND_MISS: Final = (1.1, 2.5)
_TRIES: Final = 1000

# What a server has until its own are drawn from what it can do.
_NO_SLO: Final = Slo(0.99, 1.0)
_NO_DEFAULT: Final = Truth(math.inf, math.inf, 1.0)


def draw_server(scenario: str, number: int) -> Server:
    """One server; the same for the same scenario and number.

    Raises:
        KeyError: there is no such scenario.
    """
    rng = np.random.default_rng([0x13B, zlib.crc32(scenario.encode()), number])
    traits = draw_traits(rng) if scenario == POPULATION else SCENARIOS[scenario]
    for _ in range(_TRIES):
        server = _draw_server(rng, scenario, number, traits)
        if server is not None:
            return server
    raise AssertionError(f"none of {_TRIES} servers of {scenario!r} can meet an SLO")


def _draw_server(rng: np.random.Generator, scenario: str, number: int, traits: Traits) -> Server | None:
    """A server; None when it has no SLO that settings can meet as its traits want it."""
    physics = _draw_physics(rng, traits)
    fastest_us = float(physics.at(np.zeros(1), np.ones(1)).p99_us[0])
    if not _FASTEST_US[0] <= fastest_us <= _FASTEST_US[1]:
        return None
    queueing = replace(physics.queueing, backlog_us=fastest_us * log_uniform(rng, 10.0, 100.0))
    frequency = _draw_frequencies(rng)
    delay = _draw_delays(rng, fastest_us)
    physics = replace(
        physics,
        queueing=queueing,
        span_us=delay.high,
        longest_us=delay.high * float(rng.uniform(0.1, 0.6)) if traits.plateau else math.inf,
        least_x=frequency.low / frequency.high,
        distortions=_draw_distortions(rng, traits),
    )
    space = Space(
        (
            Knob(RX_USECS, delay, auto=True, safest="low"),
            Knob(FREQ_MHZ, frequency, auto=True, safest="high"),
        )
    )
    server = Server(
        scenario=scenario,
        number=number,
        traits=traits,
        physics=physics,
        space=space,
        slo=_NO_SLO,
        default=_NO_DEFAULT,
        tick_us=_tidy(delay.step * rng.uniform(1.5, 12.0)) if traits.rounding else 0.0,
        tick_mhz=frequency.step * float(rng.choice([1, 2, 3])) if traits.rounding else 0.0,
        power_drift=float(rng.choice([-1.0, 1.0]) * rng.uniform(0.001, 0.003)) if traits.drift else 0.0,
        latency_sway=float(rng.uniform(0.01, 0.03)) if traits.drift else 0.0,
        sway_windows=float(rng.uniform(6.0, 24.0)),
    )
    limit_us = _draw_limit(rng, server)
    if limit_us is None:
        return None
    server = replace(server, slo=Slo(0.99, limit_us))
    return replace(server, default=_draw_default(rng, server))


def _draw_physics(rng: np.random.Generator, traits: Traits) -> Physics:
    """Work, queues and power of a server without delays; the scale of its time is drawn, too."""
    cores = round(log_uniform(rng, 2, 64))
    # As many caches as services of any kind.
    service_us = log_uniform(rng, 2.0, float(rng.choice([200.0, 60_000.0])))
    work = Work(
        service_us=service_us,
        memory_share=0.0 if traits.smooth else float(rng.uniform(0.0, 0.6)),
        frequency_exponent=float(rng.uniform(0.7, 1.0)),
        interrupt_us=service_us * log_uniform(rng, 0.05, 0.8),
        batching_exponent=1.0 if traits.smooth else log_uniform(rng, 0.3, 2.0),
    )
    disciplines = list(Discipline)
    of_smooth = Discipline.ONE_QUEUE if traits.one_queue else Discipline.MANY_QUEUES
    queueing = Queueing(
        discipline=of_smooth if traits.smooth else disciplines[rng.integers(len(disciplines))],
        cores=cores,
        threads=cores,
        blocked_us=0.0,
        imbalance=0.0 if traits.smooth else float(rng.uniform(0.0, 0.3)),
        variability=log_uniform(rng, 0.3, 2.0),
        spin=float(rng.uniform(1.5, 6.0)),
        backlog_us=0.0,
    )
    if queueing.discipline is Discipline.POOL:
        # As many threads as keep the cores busy while others are blocked, or fewer.
        blocked_us = service_us * log_uniform(rng, 0.1, 3.0)
        enough = cores * (1.0 + blocked_us / service_us)
        queueing = replace(queueing, blocked_us=blocked_us, threads=max(round(enough * rng.uniform(0.6, 1.3)), 1))
    core_us = work.core_us(np.ones(1), np.zeros(1))
    capacity_per_us = 1.0 / float(queueing.bottleneck(1.0, core_us)[0])
    return Physics(
        work=work,
        queueing=queueing,
        power=_draw_power(rng, traits, cores, service_us),
        per_us=capacity_per_us * float(rng.uniform(0.15, 0.85)),
        network_us=service_us * log_uniform(rng, 0.05, 3.0),
        service_tail=float(rng.uniform(1.0, 4.0)),
        norm=1.0 if traits.smooth else float(rng.uniform(1.0, 2.5)),
        poll=0.0 if traits.smooth else float(rng.uniform(0.0, 1.0)),
        span_us=1.0,
        longest_us=math.inf,
        least_x=0.5,
    )


def _draw_power(rng: np.random.Generator, traits: Traits, cores: int, service_us: float) -> Power:
    busy_core_w = float(rng.uniform(2.0, 12.0))
    smooth = traits.smooth
    idle_share = float(rng.uniform(0.1, 0.5))
    return Power(
        static_w=log_uniform(rng, 0.2, 3.0) * cores * busy_core_w / 2.0,
        busy_core_w=busy_core_w,
        idle_share=idle_share,
        deep_share=idle_share * (1.0 if smooth else float(rng.uniform(0.05, 0.8))),
        residency_us=log_uniform(rng, 0.3, 30.0) * service_us,
        voltage_floor=0.0 if smooth else float(rng.uniform(0.5, 0.85)),
        voltage_slope=float(rng.uniform(0.3, 0.8)),
        voltage_steps=0 if smooth or rng.random() < 0.6 else int(rng.integers(6, 20)),
        platform_w=0.0 if smooth else cores * busy_core_w * float(rng.uniform(0.0, 0.4)),
        platform_cores=float(rng.uniform(1.0, 8.0)),
    )


def _draw_frequencies(rng: np.random.Generator) -> Steps:
    """Three to thirty of them, from 0.8-1.6 to 2.2-4 GHz."""
    count = round(log_uniform(rng, 3, 30))
    low = 100.0 * float(rng.integers(8, 17))
    step = max(25.0 * round((100.0 * float(rng.integers(22, 41)) - low) / (count - 1) / 25.0), 25.0)
    return Steps(low, low + step * (count - 1), step)


def _draw_delays(rng: np.random.Generator, fastest_us: float) -> Steps:
    """Those of a 10G NIC where they matter, else of a timer that fits the service: 30 to 500 steps."""
    longest_us = fastest_us * log_uniform(rng, 1.5, 12.0)
    if 200.0 < longest_us < 5000.0 and rng.random() < 0.7:
        return Steps(2.0, 1022.0, 2.0)
    count = round(log_uniform(rng, 30, 500))
    digits = 1 - math.floor(math.log10(longest_us / count))
    step = round(longest_us / count, digits)
    return Steps(0.0, step * count, step)


def _draw_distortions(rng: np.random.Generator, traits: Traits) -> tuple[Distortion, ...]:
    found: list[Distortion] = []
    if traits.field:
        found.append(_draw_field(rng, np.log1p(traits.field) * np.array([1 / 3, 1.0, 1 / 3])))
    if traits.ripple:
        height, waves_, phases = rng.uniform(0.02, 0.06), rng.uniform(1.0, 2.5, size=2), rng.uniform(0.0, 6.28, size=2)
        found.append(Ripple(float(height), (waves_[0], waves_[1]), (phases[0], phases[1])))
    if traits.bump:
        found.append(Bump(float(rng.uniform(0.2, 0.7)), float(rng.uniform(0.2, 1.0)), float(rng.uniform(0.08, 0.25))))
    if traits.cliff:
        height = np.log(log_uniform(rng, 5.0, 100.0))
        line = float(rng.uniform(0.2, 0.9)), float(rng.uniform(-0.5, 0.7))
        found.append(Cliff(float(height), *line, float(rng.uniform(0.005, 0.04))))
    if traits.island:
        shown = float(rng.uniform(0.0, 0.3))
        found.append(Drowning(log_uniform(rng, 0.3, 1.5), float(rng.uniform(0.1, 0.4)), rng.uniform(2.0, 5.0), shown))
        if rng.random() < 0.5:
            found.append(Bump(float(rng.uniform(0.3, 1.0)), 1.0, float(rng.uniform(0.1, 0.2))))
    return tuple(found)


def _draw_field(rng: np.random.Generator, greatest: Array) -> Field:
    """A field whose greatest deviations from its means over the space are these."""
    shape = Field(np.ones(3), np.zeros(3), rng.normal(0.0, 0.6, size=(3, 6, 2)), rng.uniform(0.0, 2.0 * np.pi, (3, 6)))
    delay, frequency = np.meshgrid(*[np.linspace(0.0, 1.0, 33)] * 2)
    raw = shape(delay.ravel(), frequency.ravel())
    means = raw.mean(axis=1)
    return replace(shape, amplitudes=greatest / np.abs(raw - means[:, None]).max(axis=1), means=means)


def _draw_limit(rng: np.random.Generator, server: Server) -> float | None:
    """1.3 to 6 times what the fastest setting has; on an island less than that, and what few settings have."""
    fastest_us = server.fastest.p99_us
    if not server.traits.island:
        return _tidy(fastest_us * log_uniform(rng, 1.3, 6.0))
    limit_us = _tidy(float(np.quantile(server.sweep.p99_us, rng.uniform(*_ISLAND_SHARE))))
    return limit_us if _ISLAND_MISS[0] < fastest_us / limit_us < _ISLAND_MISS[1] else None


def _tidy(value_us: float) -> float:
    """Three digits, as people write limits."""
    return float(f"{value_us:.3g}")


def _draw_default(rng: np.random.Generator, server: Server) -> Truth:
    """What a governor and adaptive moderation reach, which no fixed setting has to."""
    limit_us = server.slo.limit_us
    delay_us = np.array([min(server.physics.span_us, limit_us * rng.uniform(0.02, 0.25))])
    answer = server.physics.at(delay_us, np.array([rng.uniform(0.8, 1.0)]))
    power_w = max(float(answer.power_w[0]), server.best_fixed_w) * float(rng.uniform(1.03, 1.2))
    p99_us = float(answer.p99_us[0])
    if server.traits.default == "worse":
        # Where the fastest setting drowns, so does the default.
        p99_us = max(p99_us, limit_us * float(rng.uniform(1.1, 1.6))) if server.traits.island else p99_us
    else:
        power_w = 0.8 * server.best_fixed_w
        p99_us = limit_us * float(
            rng.uniform(0.5, 0.95) if server.traits.default == "better" else rng.uniform(1.1, 2.0)
        )
    return Truth(power_w, p99_us, float(answer.utilization[0]))
