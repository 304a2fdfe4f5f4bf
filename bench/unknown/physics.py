"""Latency, power and utilization of servers that no model here was made for.

Notation, at one point (d = interrupt delay in us, x = f / f_max, q = requests/us, k = cores):

    n    requests that one interrupt finds besides its first, q d / k
    w    core time of a request, S ((1 - m) x^-a + m) + I x^-a (1 + n)^-e         memory does not follow the clock
    rho  load of the bottleneck, q w / k and more where queues are unequal or threads wait
    W    its wait's quantile, from Erlang's C [one queue, pool] or Kingman's bound [a queue per core]
    L    latency quantile, N + v S(x) + (W^p + D^p)^(1/p), D = d (1 - rho)^c      busy cores poll before the timer ends
    V    voltage, max(floor, 1 - slope (1 - x)), in steps where the regulator has some
    P    power, static + k (rho x V^2 busy + (1 - rho) V idle) + platform (1 - (1 - rho)^h)      race to idle

What is drawn here shares with `bayop.optimize` nothing but the directions: delays save work and cost time, and so do
low frequencies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

import numpy as np
from bench.unknown.distortions import Distortion
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

LATE_SHARE: Final = 0.01
"""The share of requests that take longer than the quantile, which is p99."""

# Half the width of the range of loads around 1 in which a queue of finite windows goes from stable to overloaded.
_SATURATION_WIDTH: Final = 0.01
# How far beyond 1 a load must be for a third of the greatest backlog to be missing.
_BACKLOG_SCALE: Final = 0.05


class Discipline(Enum):
    """Who serves the next request."""

    ONE_QUEUE = "one queue"
    MANY_QUEUES = "a queue per core"
    POOL = "a pool of threads"
    RUN_TO_COMPLETION = "run to completion"


@dataclass(frozen=True, slots=True)
class Work:
    """Core time of a request.

    Attributes:
        service_us: S, at the top frequency.
        memory_share: m, the share of S that does not depend on the frequency.
        frequency_exponent: a.
        interrupt_us: I, the interrupt's cost at the top frequency.
        batching_exponent: e, how fast this cost is shared.
    """

    service_us: float
    memory_share: float
    frequency_exponent: float
    interrupt_us: float
    batching_exponent: float

    def service(self, x: Array) -> Array:
        """S(x), in us."""
        return self.service_us * ((1.0 - self.memory_share) * x**-self.frequency_exponent + self.memory_share)

    def core_us(self, x: Array, batch: Array) -> Array:
        """w, in us."""
        shared = (1.0 + batch) ** -self.batching_exponent
        return self.service(x) + self.interrupt_us * x**-self.frequency_exponent * shared


@dataclass(frozen=True, slots=True)
class Queueing:
    """How requests wait.

    Attributes:
        discipline: Who serves the next request.
        cores: k.
        threads: Of the pool.
        blocked_us: For how long a thread of the pool is held besides its core time, by storage or another service.
        imbalance: By which share the fullest queue has more than the mean, with a queue per core.
        variability: (c_a^2 + c_s^2) / 2 of Kingman's bound.
        spin: How much of the idle time a run to completion looks busy: shown is 1 - (1 - rho)^spin.
        backlog_us: The greatest wait in an overloaded server, before clients give up.
    """

    discipline: Discipline
    cores: int
    threads: int
    blocked_us: float
    imbalance: float
    variability: float
    spin: float
    backlog_us: float

    def bottleneck(self, per_us: float, core_us: Array) -> Array:
        """Load of what limits the server; 1 is its capacity."""
        busy = per_us * core_us / self.cores
        match self.discipline:
            case Discipline.POOL:
                return np.maximum(busy, per_us * (core_us + self.blocked_us) / self.threads)
            case Discipline.MANY_QUEUES:
                return busy * (1.0 + self.imbalance)
        return busy

    def utilization(self, per_us: float, core_us: Array) -> Array:
        """What the operating system shows as busy, 0-1."""
        busy = np.minimum(per_us * core_us / self.cores, 1.0)
        return 1.0 - (1.0 - busy) ** self.spin if self.discipline is Discipline.RUN_TO_COMPLETION else busy

    def wait_us(self, load: Array, core_us: Array) -> Array:
        """The wait that all but `LATE_SHARE` of the requests stay below; exponential tails."""
        held_us = core_us
        servers = 1
        waiting = np.minimum(load, 1.0)
        if self.discipline in {Discipline.ONE_QUEUE, Discipline.POOL}:
            servers = self.cores if self.discipline is Discipline.ONE_QUEUE else self.threads
            held_us = core_us + (self.blocked_us if self.discipline is Discipline.POOL else 0.0)
            waiting = erlang_c(servers, load)
        decay_us = held_us * self.variability / (servers * slack(load))
        rounds = 2.0 * core_us / slack(load) if self.discipline is Discipline.RUN_TO_COMPLETION else 0.0
        overload = -np.expm1(-np.maximum(load - 1.0, 0.0) / _BACKLOG_SCALE)
        return decay_us * np.log1p(waiting / LATE_SHARE) + rounds + self.backlog_us * overload


@dataclass(frozen=True, slots=True)
class Power:
    """What a machine draws.

    Attributes:
        static_w: Whatever the cores do.
        busy_core_w: A busy core at the top frequency.
        idle_share: A shallow sleep's share of that.
        deep_share: A deep sleep's.
        residency_us: The length of a gap whose core sleeps deeply half of the time.
        voltage_floor: Below some frequency the voltage stays; the top's is 1.
        voltage_slope: Above it, how the voltage follows the frequency.
        voltage_steps: How many levels the regulator has from 0 to 1; 0 for any level.
        platform_w: Memory and interconnect while any of some cores is awake.
        platform_cores: h, how many share them.
    """

    static_w: float
    busy_core_w: float
    idle_share: float
    deep_share: float
    residency_us: float
    voltage_floor: float
    voltage_slope: float
    voltage_steps: int
    platform_w: float
    platform_cores: float

    def watts(self, cores: int, busy: Array, x: Array, gap_us: Array) -> Array:
        """P, of cores that are busy for a share of the time and idle for `gap_us` at a time."""
        voltage = np.maximum(self.voltage_floor, 1.0 - self.voltage_slope * (1.0 - x))
        if self.voltage_steps:
            voltage = np.ceil(voltage * self.voltage_steps - 1e-9) / self.voltage_steps
        deep = 1.0 / (1.0 + (self.residency_us / gap_us) ** 2)
        idle = self.idle_share * (1.0 - deep) + self.deep_share * deep
        core_w = self.busy_core_w * (busy * x * voltage**2 + (1.0 - busy) * idle * voltage)
        awake = 1.0 - (1.0 - busy) ** self.platform_cores
        return np.asarray(self.static_w + cores * core_w + self.platform_w * awake)


@dataclass(frozen=True, slots=True)
class Answer:
    """What n settings truly show; arrays of shape (n,)."""

    utilization: Array
    p99_us: Array
    power_w: Array


@dataclass(frozen=True, slots=True)
class Physics:
    """One server under one load.

    Attributes:
        per_us: q, offered requests per us.
        network_us: N.
        service_tail: v, the quantile of service times over their mean.
        norm: p, from 1 (waits add up) on (the longer one hides the other).
        poll: c, how far busy cores find packets before the timer ends.
        span_us: The longest delay of the space, which distortions are scaled by.
        longest_us: The longest delay that has an effect.
        least_x: The lowest frequency of the space over the highest.
        distortions: What else happens there.
    """

    work: Work
    queueing: Queueing
    power: Power
    per_us: float
    network_us: float
    service_tail: float
    norm: float
    poll: float
    span_us: float
    longest_us: float
    least_x: float
    distortions: Sequence[Distortion] = ()

    def at(self, delay_us: Array, x: Array) -> Answer:
        """Truth at n settings: delays in us and relative frequencies, shape (n,)."""
        queueing = self.queueing
        held_us = np.minimum(delay_us, self.longest_us)
        core_us = self.work.core_us(x, self.per_us * held_us / queueing.cores)
        load = queueing.bottleneck(self.per_us, core_us)
        busy = np.minimum(self.per_us * core_us / queueing.cores, 1.0)
        delayed_us = held_us * slack(load) ** self.poll
        waits_us = (queueing.wait_us(load, core_us) ** self.norm + delayed_us**self.norm) ** (1.0 / self.norm)
        p99_us = self.network_us + self.service_tail * self.work.service(x) + waits_us
        gap_us = np.maximum(1.0 - busy, 1e-3) * (held_us + queueing.cores / self.per_us)
        power_w = self.power.watts(queueing.cores, busy, x, gap_us)
        factors = np.zeros((3, len(x)))
        delay, frequency = self.coordinates(delay_us, x)
        for distortion in self.distortions:
            factors = factors + distortion(delay, frequency)
        utilization, late, drawn = np.exp(factors)
        shown = queueing.utilization(self.per_us, core_us)
        return Answer(np.minimum(shown * utilization, 1.0), p99_us * late, power_w * drawn)

    def coordinates(self, delay_us: Array, x: Array) -> tuple[Array, Array]:
        """Delay and frequency as shares of their ranges; the delay's on the scale of its square root."""
        return np.sqrt(delay_us / self.span_us), (x - self.least_x) / (1.0 - self.least_x)


def slack(load: Array) -> Array:
    """1 - load where the queue is stable, and little but positive beyond: windows end."""
    free = 1.0 - load
    return np.asarray((free + np.sqrt(free**2 + 4.0 * _SATURATION_WIDTH**2)) / 2.0)


def erlang_c(servers: int, load: Array) -> Array:
    """Erlang's C: the probability to wait for one of some servers, by the recursion of his B."""
    stable = np.minimum(load, 1.0 - 1e-9)
    blocked = np.ones_like(stable)
    for i in range(1, servers + 1):
        blocked = stable * servers * blocked / (i + stable * servers * blocked)
    return np.asarray(blocked / (1.0 - stable * (1.0 - blocked)))


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """A number whose logarithm is uniform."""
    return float(math.exp(rng.uniform(math.log(low), math.log(high))))
