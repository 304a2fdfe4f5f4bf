"""The digital twin as a target: settings are simulated, not applied to a machine."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Final, Self

import numpy as np

from bayop import _core
from bayop.domains import Choices, Steps
from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.space import (
    CAP_W,
    DEFER_HARD_IRQS,
    FREQ_MHZ,
    GRO_FLUSH_TIMEOUT_US,
    IDLE_GOVERNOR,
    MAX_LATENCY_US,
    QUEUES,
    RX_FRAMES,
    RX_USECS,
    Knob,
    Safest,
    Setting,
    Space,
    default_setting,
)
from bayop.target.base import Modelled
from bayop.twin.profile_library import load_profile
from bayop.twin.windows import combine_batches, for_round_trips, quantities_of, simulate, simulation_run
from bayop.units import positive

REQUESTS_PER_WINDOW: Final = 200_000
"""Simulated requests in one measurement window; more make the window longer and the quantiles sharper."""

ROUND_TRIPS_PER_WINDOW: Final = 5_000
"""Round trips in one window of a closed loop, as many as NetPIPE was measured with; `for_round_trips` says how."""

BATCHES: Final = 8
"""Independent parts of one window, from whose scatter the window's noise is known."""

LEAST_BATCH_S: Final = 0.1
"""The least simulated time of a batch: a queue that the cores can't keep up with needs time to show."""

MOST_BATCH_REQUESTS: Final = 1_000_000
"""What the least time may ask for: beyond this load every server here is overloaded, and it shows at once."""

SAFEST: Final[Mapping[str, Safest | None]] = {
    RX_USECS: "low",
    FREQ_MHZ: "high",
    RX_FRAMES: "low",
    QUEUES: "high",
    CAP_W: "high",
    MAX_LATENCY_US: "low",
    IDLE_GOVERNOR: None,
    DEFER_HARD_IRQS: "low",
    GRO_FLUSH_TIMEOUT_US: "low",
}
"""Every knob that the twin models, and which end of its values makes the service fastest; None where nobody knows."""

IDLE_GOVERNORS: Final = ("menu", "teo", "ladder", "haltpoll", "yawn", "bayop")
"""Words of `idle.governor`: the kernel's, [Y]'s and our own. Bounds and old versions are for profiles."""

# The number of the window that measurements never come to.
_TRUTH: Final = 2**32 - 1


class TwinTarget(Modelled):
    """One simulated server under a stable load.

    Args:
        profile: The server.
        qps: Offered load in requests/s, of an open loop.
        message_bytes: Size of the message, of a closed loop.
        seed: Seed of everything random; the same seed gives the same sequence of measurements.
        requests: Simulated requests in one window.
        knobs: Ids of knobs beyond ITR-delay and frequency, such as `idle.max_latency_us`.

    Raises:
        InputError: the load is no positive number, or not of the profile's kind, or the profile has no such knob.

    Example:
        >>> from bayop import TwinTarget
        >>> server = TwinTarget.from_profile("linux-memcached", qps=400_000, seed=0)
        >>> default = server.baseline()
        >>> in_effect = server.apply({"nic.rx_usecs": 200, "cpu.freq_mhz": 1700})
        >>> slower = server.measure()
        >>> slower["power_w"] < default["power_w"] and slower["p99_us"] > default["p99_us"]
        True
    """

    name = "twin"

    def __init__(
        self,
        profile: _core.Profile,
        *,
        qps: float | None = None,
        message_bytes: float | None = None,
        seed: int,
        requests: int | None = None,
        knobs: Iterable[str] = (),
    ) -> None:
        self._profile = profile
        self._load = check_load(profile, qps=qps, message_bytes=message_bytes)
        self._seed = seed
        self._requests = requests or (ROUND_TRIPS_PER_WINDOW if profile.closed_loop else REQUESTS_PER_WINDOW)
        self._windows = 0
        self._space = profile_space(profile, knobs)
        self._setting = default_setting(self._space)
        unit = "byte messages" if profile.closed_loop else "qps"
        self.description = f"the twin {profile.name} at {self._load:g} {unit}"

    @classmethod
    def from_profile(
        cls,
        name_or_file: str,
        *,
        qps: float | None = None,
        message_bytes: float | None = None,
        seed: int,
        knobs: Iterable[str] = (),
    ) -> Self:
        """The twin of a built-in profile (`linux-memcached`) or of a profile file.

        Raises:
            InputError: there is no such profile, its text breaks a rule, the load is not of its kind, or it has no
                such knob.
        """
        return cls(load_profile(name_or_file), qps=qps, message_bytes=message_bytes, seed=seed, knobs=knobs)

    @property
    def space(self) -> Space:
        """ITR-delay (unless it polls), frequency, and the knobs that were asked for; all can be left to the system."""
        return self._space

    @property
    def quantities(self) -> frozenset[str]:
        """Everything that a window of the twin shows."""
        return quantities_of(self._profile)

    @property
    def qps(self) -> float:
        """Offered load in requests/s; of a closed loop, which offers none, the message size in bytes."""
        return self._load

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

    def truth(self, setting: Setting) -> dict[str, float]:
        """What a window of a setting shows with the noise of its own seed, which no measurement has; applies nothing.

        Raises:
            InputError: the setting is not in the space.
        """
        seed = int(np.random.SeedSequence([self._seed, _TRUTH]).generate_state(1, np.uint64)[0])
        setting = self._space.check(setting)
        run = simulation_run(self._profile, setting, load=self._load, requests=self._requests, seed=seed)
        window = simulate(self._profile, [run], threads=1)[0]
        return dict((for_round_trips(window, self._requests) if self._profile.closed_loop else window).quantities)

    def _window(self, setting: Setting, number: int) -> Measurement:
        seeds = np.random.SeedSequence([self._seed, number]).generate_state(BATCHES, np.uint64)
        requests = self._requests // BATCHES
        if not self._profile.closed_loop:
            requests = max(requests, min(math.ceil(self._load * LEAST_BATCH_S), MOST_BATCH_REQUESTS))
        runs = [simulation_run(self._profile, setting, load=self._load, requests=requests, seed=int(s)) for s in seeds]
        batches = simulate(self._profile, runs, threads=1)
        if self._profile.closed_loop:
            batches = [for_round_trips(batch, requests) for batch in batches]
        return combine_batches(batches)


def check_load(profile: _core.Profile, *, qps: float | None = None, message_bytes: float | None = None) -> float:
    """The one of the two that the profile takes: a request rate or, in a closed loop, a message size.

    Raises:
        InputError: it is missing or no positive number, or the other one was given.
    """
    load, other = (message_bytes, qps) if profile.closed_loop else (qps, message_bytes)
    what = "a message size in bytes" if profile.closed_loop else "a number of requests/s"
    if other is not None or load is None:
        hint = "it is a closed loop: a size such as 64KB" if profile.closed_loop else "a rate such as 400kqps"
        wrong = "no load is given" if other is None else None
        raise InputError(f"the load of {profile.name} must be {what}", wrong=wrong, value=other, hint=hint)
    unit = "B" if profile.closed_loop else "qps"
    return positive(load, unit, f"a load must be a positive {what.removeprefix('a ')}")


def profile_space(profile: _core.Profile, knobs: Iterable[str] = ()) -> Space:
    """The knobs of a profile's machine, in hardware steps: ITR-delay unless it polls, frequency, and those named.

    Raises:
        InputError: a name is of no knob that the profile has.
    """
    domains: dict[str, Steps | Choices] = {knob_id: _domain(values) for knob_id, values in profile.knobs().items()}
    if tomllib.loads(profile.to_toml())["os"]["idle_governor"] in IDLE_GOVERNORS:
        domains[IDLE_GOVERNOR] = Choices(IDLE_GOVERNORS)
    every = Space(tuple(Knob(i, domains[i], auto=True, safest=safest) for i, safest in SAFEST.items() if i in domains))
    named = {every[knob_id].id for knob_id in knobs}
    return Space(tuple(knob for knob in every.knobs if knob.id in named | {RX_USECS, FREQ_MHZ}))


def _domain(values: tuple[float, float, float] | list[float]) -> Steps | Choices:
    if isinstance(values, tuple):
        return Steps(*values)
    gaps = {round(b - a, 6) for a, b in pairwise(values)}
    return (
        Steps(values[0], values[-1], gaps.pop())
        if len(gaps) == 1
        else Choices(tuple(int(v) if v.is_integer() else v for v in values))
    )
