"""The digital twin as a target: settings are simulated, not applied to a machine."""

from __future__ import annotations

import math
import statistics
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, Self

import numpy as np

from bayop import _core
from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.slo import quantile_name, quantile_of
from bayop.space import AUTO, FREQ_MHZ, QUEUES, RX_USECS, Choices, Knob, Safest, Setting, Space, Steps, default_setting
from bayop.target.base import Modelled
from bayop.twin.profile_library import read_profile

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

QUANTITIES: Final = frozenset(
    {
        "power_w", "energy_j", "p5_us", "p50_us", "p90_us", "p95_us", "p99_us", "p999_us", "mean_us",
        "utilization", "interrupts_per_s", "qps", "duration_s",
    }
)  # fmt: skip
"""What every window of the twin shows."""

CLOSED_LOOP_QUANTITIES: Final = frozenset({"roundtrips", "roundtrip_us", "goodput_mibit_s", "instructions"})
"""What it shows beside those of a closed loop; its latencies are those of round trips."""

_IDLE_GOVERNOR: Final = "idle.governor"

SAFEST: Final[Mapping[str, Safest | None]] = {
    RX_USECS: "low",
    FREQ_MHZ: "high",
    "nic.rx_frames": "low",
    QUEUES: "high",
    "power.cap_w": "high",
    "idle.max_latency_us": "low",
    _IDLE_GOVERNOR: None,
    "napi.defer_hard_irqs": "low",
    "napi.gro_flush_timeout_us": "low",
}
"""Every knob that the twin models, and which end of its values makes the service fastest; None where nobody knows."""

IDLE_GOVERNORS: Final = ("menu", "teo", "ladder", "haltpoll", "yawn", "bayop")
"""Words of `idle.governor`: the kernel's, [Y]'s and our own. Bounds and old versions are for profiles."""

# Relative sd of the power and utilization of a window of `REQUESTS_PER_WINDOW`, from 30 seeds at 400K requests/s.
_NOISE: Final = {"power_w": 0.002, "energy_j": 0.002, "utilization": 0.003}
# Queues are empty at first; what the clients see before they have filled is not counted.
_LEAST_WARMUP_S: Final = 0.05
_WARMUP_SHARE: Final = 0.1
# Successive latencies are correlated: a sample quantile scatters about twice as far as that of independent draws.
_CORRELATION: Final = 2.0
# The number of the window that measurements never come to.
_TRUTH: Final = 2**32 - 1
# Quantities that grow with the length of the window.
_TOTALS: Final = frozenset({"energy_j", "duration_s", "roundtrips", "instructions"})
# Quantiles whose noise is known: their share, and the shares between which the density of latencies is taken.
_NEIGHBOURS: Final = {
    "p50_us": (0.5, 0.05, 0.9),
    "p90_us": (0.9, 0.5, 0.99),
    "p95_us": (0.95, 0.5, 0.99),
    "p99_us": (0.99, 0.95, 0.999),
}


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
    if not (math.isfinite(load) and load > 0):
        raise InputError(f"a load must be a positive {what.removeprefix('a ')}", value=load)
    return load


def polling(profile: _core.Profile) -> _core.Profile:
    """The same server with cores that spin on their queues; it has no ITR-delay left to set."""
    return profile.with_values({"os.dispatch": "polling"})


def with_words(profile: _core.Profile, words: Mapping[str, str]) -> _core.Profile:
    """The same server under another policy, such as `os.idle_governor`.

    Raises:
        InputError: the profile has no such policy.
    """
    try:
        return profile.with_values(dict(words))
    except _core.Error as error:
        raise InputError.of(error) from error


def quantities_of(profile: _core.Profile) -> frozenset[str]:
    """What every window of a profile's twin shows."""
    return QUANTITIES | CLOSED_LOOP_QUANTITIES if profile.closed_loop else QUANTITIES


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
    except _core.Error as error:
        raise InputError.of(error) from error


def profile_space(profile: _core.Profile, knobs: Iterable[str] = ()) -> Space:
    """The knobs of a profile's machine, in hardware steps: ITR-delay unless it polls, frequency, and those named.

    Raises:
        InputError: a name is of no knob that the profile has.
    """
    domains: dict[str, Steps | Choices] = {knob_id: _domain(values) for knob_id, values in profile.knobs().items()}
    if tomllib.loads(profile.to_toml())["os"]["idle_governor"] in IDLE_GOVERNORS:
        domains[_IDLE_GOVERNOR] = Choices(IDLE_GOVERNORS)
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


def simulation_run(profile: _core.Profile, setting: Setting, *, load: float, requests: int, seed: int) -> _core.Run:
    """One run of the core for a setting; `auto` leaves a knob to the modelled policy.

    The load is in requests/s or, of a closed loop, in bytes a message.
    """
    values = {knob: value for knob, value in setting.items() if value != AUTO}
    governor = values.pop(_IDLE_GOVERNOR, None)
    numbers = {knob: float(value) for knob, value in values.items()}
    run: _core.Run = {"requests": requests, "seed": seed, "setting": numbers}
    if governor is not None:
        run["profile"] = with_words(profile, {"os.idle_governor": str(governor)})
    if profile.closed_loop:
        return {**run, "message_bytes": load}
    return {**run, "qps": load, "warmup_s": max(_LEAST_WARMUP_S, _WARMUP_SHARE * requests / load)}


def simulate(profile: _core.Profile, runs: Sequence[_core.Run], *, threads: int) -> list[Measurement]:
    """Simulates many windows, in the order of `runs`; the result does not depend on the number of threads.

    A window in which nothing was answered, as where interrupts take all of a core's time, is one that is cut short.

    Raises:
        InputError: a run asks for what the profile's machine can't do, or completed no round trip of a closed loop.
    """
    try:
        windows = _core.simulate(profile, list(runs), threads=threads)
    except _core.Error as error:
        raise InputError.of(error) from error
    sizes = [run.get("message_bytes") for run in runs]
    return [_measurement(window, size) for window, size in zip(windows, sizes, strict=True)]


def for_round_trips(window: Measurement, count: int) -> Measurement:
    """A closed loop's window with its totals (energy, instructions, time) brought to that many round trips.

    The core simulates a time in which about as many fit; fast settings fit more of them, slow ones fewer. The totals of
    two settings can be compared only when they are of the same work.
    """
    scale = count / window["roundtrips"]
    quantities = {name: value * scale if name in _TOTALS else value for name, value in window.quantities.items()}
    # The product may miss the count by a rounding error.
    return replace(window, quantities={**quantities, "roundtrips": float(count)})


def combine_batches(batches: Sequence[Measurement]) -> Measurement:
    """One window from independent batches: means, and the standard errors that the scatter of the batches shows.

    The method of batch means: near saturation a few long busy periods decide the tail, so a window knows its own
    noise only from how much its parts differ. With few batches the scatter is itself uncertain; the noise is never
    taken to be below that of independent draws. Of a window that is cut short in a part nothing has a known noise.
    """
    count = len(batches)
    means = {name: statistics.fmean(b[name] for b in batches) for name in batches[0].quantities}
    for total in means.keys() & _TOTALS:
        means[total] *= count
    for batch in batches:
        if batch.censored:
            return Measurement(means, cut_short=batch.cut_short)
    noise = {}
    for name, expected in batches[0].relative_sd.items():
        scatter = statistics.stdev(b[name] for b in batches) / statistics.fmean(b[name] for b in batches)
        noise[name] = max(scatter, expected) / math.sqrt(count)
    return Measurement(means, relative_sd=noise)


def _measurement(window: Mapping[str, object], message_bytes: float | None) -> Measurement:
    quantities = {k: float(v) for k in QUANTITIES if isinstance(v := window[k], int | float)}
    completed = window["completed"]
    if not isinstance(completed, int):
        raise TypeError("the core counts what was completed")
    if completed == 0 and message_bytes is not None:
        raise InputError(
            "a simulated window must complete at least one round trip",
            wrong="no round trip was completed",
            hint="ask for more requests",
        )
    if completed == 0:
        return Measurement(quantities | _least_latencies(quantities["duration_s"]), cut_short="no request was answered")
    if message_bytes is not None:
        quantities |= _round_trips(window, message_bytes)
    noise = {name: _quantile_noise(name, quantities, completed) for name in _NEIGHBOURS}
    return Measurement(quantities, relative_sd=_NOISE | noise)


def _least_latencies(duration_s: float) -> dict[str, float]:
    """What latencies are at least when nothing was answered: who came in the first 1 % waits for 99 % of the window."""
    quantiles = {name: q for name in QUANTITIES if (q := quantile_of(name)) is not None}
    return {name: 1e6 * duration_s * share for name, share in {**quantiles, "mean_us": 0.5}.items()}


def _round_trips(window: Mapping[str, object], message_bytes: float) -> dict[str, float]:
    """What a closed loop shows; goodput is what NetPIPE prints: one way, in Mibit/s."""
    completed, duration_s, instructions = (float(str(window[k])) for k in ("completed", "duration_s", "instructions"))
    roundtrip_s = duration_s / completed
    return {
        "roundtrips": completed,
        "roundtrip_us": 1e6 * roundtrip_s,
        "goodput_mibit_s": 8.0 * message_bytes / (0.5 * roundtrip_s) / 2**20,
        "instructions": instructions,
    }


def _quantile_noise(name: str, quantities: Mapping[str, float], completed: int) -> float:
    """Relative sd of a sample quantile: sqrt(q (1 - q) / n) / (density x quantile), times `_CORRELATION`."""
    q, below, above = _NEIGHBOURS[name]
    spread = (quantities[quantile_name(above)] - quantities[quantile_name(below)]) / (above - below)
    sd = _CORRELATION * math.sqrt(q * (1 - q) / completed) * spread / quantities[name]
    return min(max(sd, 0.002), 0.3)
