"""Windows of the digital twin: what the core simulates for a setting, as measurements."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from bayop import _core
from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.slo import quantile_name, quantile_of
from bayop.space import AUTO, IDLE_GOVERNOR, Setting
from bayop.twin.profile_library import with_values

QUANTITIES: Final = frozenset(
    {
        "power_w", "energy_j", "p5_us", "p50_us", "p90_us", "p95_us", "p99_us", "p999_us", "mean_us",
        "utilization", "interrupts_per_s", "qps", "duration_s",
    }
)  # fmt: skip
"""What every window of the twin shows."""

CLOSED_LOOP_QUANTITIES: Final = frozenset({"roundtrips", "roundtrip_us", "goodput_mibit_s", "instructions"})
"""What it shows beside those of a closed loop; its latencies are those of round trips."""

# Relative sd of the power and utilization of a window of `REQUESTS_PER_WINDOW`, from 30 seeds at 400K requests/s.
_NOISE: Final = {"power_w": 0.002, "energy_j": 0.002, "utilization": 0.003}
# Queues are empty at first; what the clients see before they have filled is not counted.
_LEAST_WARMUP_S: Final = 0.05
_WARMUP_SHARE: Final = 0.1
# Successive latencies are correlated: a sample quantile scatters about twice as far as that of independent draws.
_CORRELATION: Final = 2.0
# Quantities that grow with the length of the window.
_TOTALS: Final = frozenset({"energy_j", "duration_s", "roundtrips", "instructions"})
# Quantiles whose noise is known: their share, and the shares between which the density of latencies is taken.
_NEIGHBOURS: Final = {
    "p50_us": (0.5, 0.05, 0.9),
    "p90_us": (0.9, 0.5, 0.99),
    "p95_us": (0.95, 0.5, 0.99),
    "p99_us": (0.99, 0.95, 0.999),
}


def quantities_of(profile: _core.Profile) -> frozenset[str]:
    """What every window of a profile's twin shows."""
    return QUANTITIES | CLOSED_LOOP_QUANTITIES if profile.closed_loop else QUANTITIES


def simulation_run(profile: _core.Profile, setting: Setting, *, load: float, requests: int, seed: int) -> _core.Run:
    """One run of the core for a setting; `auto` leaves a knob to the modelled policy.

    The load is in requests/s or, of a closed loop, in bytes a message.
    """
    values = {knob: value for knob, value in setting.items() if value != AUTO}
    governor = values.pop(IDLE_GOVERNOR, None)
    numbers = {knob: float(value) for knob, value in values.items()}
    run: _core.Run = {"requests": requests, "seed": seed, "setting": numbers}
    if governor is not None:
        run["profile"] = with_values(profile, {"os.idle_governor": str(governor)})
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
