"""Power rises with load on every built-in profile, on every machine, under every built-in policy."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator
from typing import Final

import pytest

from bayop import _core
from bayop.twin.profile_library import load_profile, profile_names

pytestmark = [pytest.mark.slow, pytest.mark.weekly]

MACHINES: Final = ("", "@epyc-ena", "@xeon-e5-2630-v3", "@xeon-silver-4314")
FREQUENCY: Final = ("ondemand", "performance", "powersave", "nmap", "rubik", "oracle")
IDLE: Final = ("menu", "deepest", "shallowest", "oracle")
LOADS: Final = (1e-5, 1e-4, 4e-4, 1.6e-3, 6.4e-3, 0.026, 0.1, 0.4, 0.9)
"""Parts of what the server answers at most, clocks as they are under the most load."""
SEEDS: Final = 5
STANDARD_ERRORS: Final = 7.2
"""A fall by so many standard errors of the mean difference has a chance of 1 in 1,000 (Student's t of five)."""
ROUNDING: Final = 1e-6

BUSY_BESIDE_TURBO: Final = ("ebbrt-silo@xeon-e5-2630-v3", "linux-silo@xeon-e5-2630-v3")
"""Silo keeps a core busy at any load, and turbo lets it run the faster the more others sleep: power need not rise.
crates/twin/tests/power_by_load.rs says what holds instead. On the Xeon Silver idle cores count as active."""


SERVERS: Final = sorted(
    {name + machine for name in profile_names() if "netpipe" not in name for machine in MACHINES}
    - set(BUSY_BESIDE_TURBO)
)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("server", SERVERS)
def test_power_rises_with_load(server: str) -> None:
    profile = load_profile(server)
    assert {policies: fall for policies, p in _variants(profile) if (fall := _fall(p))} == {}


def _variants(profile: _core.Profile) -> Iterator[tuple[tuple[str, str], _core.Profile]]:
    """Every frequency policy and every idle policy that the server can have, one of them its own."""
    for frequency, idle in itertools.chain(((f, "") for f in FREQUENCY), (("", i) for i in IDLE)):
        words = {"os.frequency_governor": frequency, "os.idle_governor": idle}
        try:
            yield (frequency, idle), profile.with_values({key: word for key, word in words.items() if word})
        except _core.Error:
            continue  # policies that act at events want steered dispatch and neither turbo nor hyperthreads


def _fall(profile: _core.Profile) -> tuple[float, float] | None:
    """The first loads between which power falls, if any."""
    greatest_qps = _greatest_qps(profile)
    runs = [_run(max(load * greatest_qps, 1e-3), seed) for load in LOADS for seed in range(SEEDS)]
    powers_w = [window["power_w"] for window in _core.simulate(profile, runs, threads=2)]
    by_load = [powers_w[at : at + SEEDS] for at in range(0, len(powers_w), SEEDS)]
    for loads, (less_w, more_w) in zip(itertools.pairwise(LOADS), itertools.pairwise(by_load), strict=True):
        rises_w = [more - less for less, more in zip(less_w, more_w, strict=True)]
        error_w = statistics.stdev(rises_w) / math.sqrt(SEEDS)
        if statistics.fmean(rises_w) < -STANDARD_ERRORS * error_w - ROUNDING * less_w[0]:
            return loads
    return None


def _greatest_qps(profile: _core.Profile) -> float:
    """More load may mean fewer answers: interrupts come first. So loads of all magnitudes are tried."""
    slowest = 'frequency_governor = "powersave"' in profile.to_toml()
    pinned = profile.with_values({"os.frequency_governor": "powersave" if slowest else "performance"})
    loads_qps = [2.5**power for power in range(17)]
    runs = [_run(qps, 0, duration_s=min(4_000.0 / qps, 20.0)) for qps in loads_qps]
    return max(window["qps"] for window in _core.simulate(pinned, runs, threads=2))


def _run(qps: float, seed: int, *, duration_s: float | None = None) -> _core.Run:
    duration_s = duration_s or min(max(0.1, 100.0 / qps), 20.0)
    return {"qps": qps, "duration_s": duration_s, "warmup_s": duration_s / 2, "seed": seed}
