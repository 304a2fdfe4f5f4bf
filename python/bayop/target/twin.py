"""The digital twin as a target: settings are simulated, not applied to a machine."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from bayop import _core
from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.slo import quantile_name
from bayop.space import AUTO, FREQ_MHZ, RX_USECS, Choices, Setting, Space, Steps, default_setting, nic_and_cpu_space
from bayop.target.profile_library import read_profile

REQUESTS_PER_WINDOW: Final = 200_000
"""Simulated requests in one measurement window; more make the window longer and the quantiles sharper."""

BATCHES: Final = 8
"""Independent parts of one window, from whose scatter the window's noise is known."""

LEAST_BATCH_S: Final = 0.1
"""The least simulated time of a batch: a queue that the cores can't keep up with needs time to show."""

MOST_BATCH_REQUESTS: Final = 1_000_000
"""What the least time may ask for: beyond this load every server here is overloaded, and it shows at once."""

QUANTITIES: Final = frozenset(
    {
        "power_w", "energy_j", "p5_us", "p50_us", "p90_us", "p95_us", "p99_us", "p999_us", "mean_us",
        "utilization", "interrupts_per_s", "qps", "duration_s",
    }
)  # fmt: skip
"""What every window of the twin shows."""

# Relative sd of the power and utilization of a window of `REQUESTS_PER_WINDOW`, from 30 seeds at 400K requests/s.
_NOISE: Final = {"power_w": 0.002, "energy_j": 0.002, "utilization": 0.003}
# Queues are empty at first; what the clients see before they have filled is not counted.
_LEAST_WARMUP_S: Final = 0.05
_WARMUP_SHARE: Final = 0.1
# Successive latencies are correlated: a sample quantile scatters about twice as far as that of independent draws.
_CORRELATION: Final = 2.0
# Quantiles whose noise is known: their share, and the shares between which the density of latencies is taken.
_NEIGHBOURS: Final = {
    "p50_us": (0.5, 0.05, 0.9),
    "p90_us": (0.9, 0.5, 0.99),
    "p95_us": (0.95, 0.5, 0.99),
    "p99_us": (0.99, 0.95, 0.999),
}


class TwinTarget:
    """One simulated server under a stable load.

    Args:
        profile: The server.
        qps: Offered load, in requests/s.
        seed: Seed of everything random; the same seed gives the same sequence of measurements.
        requests: Simulated requests in one window.

    Raises:
        InputError: the load is no positive number.
    """

    name = "twin"

    def __init__(self, profile: _core.Profile, *, qps: float, seed: int, requests: int = REQUESTS_PER_WINDOW) -> None:
        if not (math.isfinite(qps) and qps > 0):
            raise InputError("a load is a positive number of requests/s", value=qps)
        self._profile = profile
        self._qps = qps
        self._seed = seed
        self._requests = requests
        self._windows = 0
        self._space = profile_space(profile)
        self._setting = default_setting(self._space)
        self.description = f"the twin {profile.name} at {qps:g} qps"

    @classmethod
    def from_profile(cls, name_or_file: str, *, qps: float, seed: int) -> TwinTarget:
        """The twin of a built-in profile or of a profile file.

        Raises:
            InputError: there is no such profile, or its text breaks a rule.
        """
        return cls(load_profile(name_or_file), qps=qps, seed=seed)

    @property
    def space(self) -> Space:
        """ITR-delay x frequency in the profile's steps; both can be left to the operating system."""
        return self._space

    @property
    def quantities(self) -> frozenset[str]:
        """Everything that a window of the twin shows."""
        return QUANTITIES

    @property
    def qps(self) -> float:
        """Offered load, in requests/s."""
        return self._qps

    def apply(self, setting: Setting) -> Setting:
        """Selects what the next window simulates."""
        self._setting = self._space.check(setting)
        return self._setting

    def measure(self) -> Measurement:
        """Simulates one window with the setting in effect; every window has its own arrivals."""
        self._windows += 1
        return self._window(self._setting, self._windows)

    def baseline(self) -> Measurement:
        """One window of the default policies."""
        return self._window(default_setting(self._space), 0)

    def restore(self) -> None:
        """Back to the default policies."""
        self._setting = default_setting(self._space)

    def _window(self, setting: Setting, number: int) -> Measurement:
        seeds = np.random.SeedSequence([self._seed, number]).generate_state(BATCHES, np.uint64)
        requests = max(self._requests // BATCHES, min(math.ceil(self._qps * LEAST_BATCH_S), MOST_BATCH_REQUESTS))
        runs = [simulation_run(setting, qps=self._qps, requests=requests, seed=int(s)) for s in seeds]
        return combine_batches(simulate(self._profile, runs, threads=1))


def load_profile(name_or_file: str) -> _core.Profile:
    """A built-in profile (`linux-memcached`) or a TOML file, on its own machine or another (`linux-xapian@epyc-ena`).

    Raises:
        InputError: there is no such profile, or its text breaks a rule.
    """
    text, source = read_profile(name_or_file)
    return parse_profile(text, source=source)


def parse_profile(text: str, *, source: str) -> _core.Profile:
    """A profile from TOML text.

    Raises:
        InputError: with file, line and key, for an unknown key, a wrong unit or a value out of range.
    """
    try:
        return _core.Profile(text, source=source)
    except _core.ProfileError as error:
        raise as_input_error(error) from error


def as_input_error(error: _core.ProfileError) -> InputError:
    """The core's error as one of ours; names that it quotes are quoted once."""
    return InputError(error.rule, value=error.value.strip("`"), place=error.place, hint=error.hint.replace("`", ""))


def profile_space(profile: _core.Profile) -> Space:
    """The knobs of a profile's machine, in hardware steps."""
    low, high, step = profile.rx_usecs
    mhz = profile.freq_mhz
    gaps = {round(b - a, 6) for a, b in pairwise(mhz)}
    frequencies = Steps(mhz[0], mhz[-1], gaps.pop()) if len(gaps) == 1 else Choices(tuple(mhz))
    return nic_and_cpu_space(Steps(low, high, step), frequencies, auto=True)


def simulation_run(setting: Setting, *, qps: float, requests: int, seed: int) -> _core.Run:
    """One run of the core for a setting; `auto` leaves a knob to the modelled policy."""

    def fixed(knob_id: str) -> float | None:
        value = setting[knob_id]
        return None if value == AUTO else float(value)

    return {
        "qps": qps,
        "requests": requests,
        "warmup_s": max(_LEAST_WARMUP_S, _WARMUP_SHARE * requests / qps),
        "seed": seed,
        "rx_usecs": fixed(RX_USECS),
        "freq_mhz": fixed(FREQ_MHZ),
    }


def simulate(profile: _core.Profile, runs: Sequence[_core.Run], *, threads: int) -> list[Measurement]:
    """Simulates many windows, in the order of `runs`; the result does not depend on the number of threads.

    Raises:
        InputError: a run asks for what the profile's machine can't do, or its window was too short to finish a request.
    """
    try:
        windows = _core.simulate(profile, list(runs), threads=threads)
    except _core.ProfileError as error:
        raise as_input_error(error) from error
    return [_measurement(window) for window in windows]


def combine_batches(batches: Sequence[Measurement]) -> Measurement:
    """One window from independent batches: means, and the standard errors that the scatter of the batches shows.

    The method of batch means: near saturation a few long busy periods decide the tail, so a window knows its own
    noise only from how much its parts differ. With few batches the scatter is itself uncertain; the noise is never
    taken to be below that of independent draws.
    """
    count = len(batches)
    means = {name: statistics.fmean(b[name] for b in batches) for name in batches[0].quantities}
    for total in ("energy_j", "duration_s"):
        means[total] *= count
    noise = {}
    for name, expected in batches[0].relative_sd.items():
        scatter = statistics.stdev(b[name] for b in batches) / statistics.fmean(b[name] for b in batches)
        noise[name] = max(scatter, expected) / math.sqrt(count)
    return Measurement(means, relative_sd=noise)


def _measurement(window: Mapping[str, object]) -> Measurement:
    quantities = {k: float(v) for k in QUANTITIES if isinstance(v := window[k], int | float)}
    completed = window["completed"]
    if "p99_us" not in quantities or not isinstance(completed, int):
        raise InputError("a simulated window completes at least one request", hint="offer more load or more requests")
    noise = {name: _quantile_noise(name, quantities, completed) for name in _NEIGHBOURS}
    return Measurement(quantities, relative_sd=_NOISE | noise)


def _quantile_noise(name: str, quantities: Mapping[str, float], completed: int) -> float:
    """Relative sd of a sample quantile: sqrt(q (1 - q) / n) / (density x quantile), times `_CORRELATION`."""
    q, below, above = _NEIGHBOURS[name]
    spread = (quantities[quantile_name(above)] - quantities[quantile_name(below)]) / (above - below)
    sd = _CORRELATION * math.sqrt(q * (1 - q) / completed) * spread / quantities[name]
    return min(max(sd, 0.002), 0.3)
