"""Random servers of the twin with four knobs, and the best of their settings by a sweep."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import product
from typing import Final

from bench.generality.servers import Case, spread
from bench.judge import TOLERANCE

from bayop.space import FREQ_MHZ, MAX_LATENCY_US, QUEUES, RX_USECS, Setting, Space
from bayop.twin.target import TwinTarget, profile_space
from bayop.twin.windows import simulate, simulation_run

KNOBS: Final = (MAX_LATENCY_US, QUEUES)
"""What is searched besides delay and frequency."""

_MOST: Final = {FREQ_MHZ: 10, MAX_LATENCY_US: 5, QUEUES: 6}
_RANKED_REQUESTS: Final = 20_000
_CONTENDERS: Final = 12
_TRUTH_SEED: Final = 1_000_003
_TRUTH_WINDOWS: Final = 4


def server_space(case: Case) -> Space:
    """The four knobs, none left to the system."""
    return profile_space(case.profile, KNOBS).without_auto()


def sweep_settings(space: Space, least: int) -> list[Setting]:
    """At least so many settings (or all): few values of the other knobs, and as many delays as that takes.

    Where the delays do not suffice, the other knobs have more values too.
    """
    finer = 1
    while True:
        values = {k.id: spread(k.numbers(), finer * _MOST[k.id]) for k in space.knobs if k.id != RX_USECS}
        others = math.prod(len(v) for v in values.values())
        delays = min(math.ceil(least / others), len(space[RX_USECS].numbers()))
        values[RX_USECS] = spread(space[RX_USECS].numbers(), delays)
        is_whole = all(len(v) == len(space[knob_id].numbers()) for knob_id, v in values.items())
        if is_whole or math.prod(len(v) for v in values.values()) >= least:
            return [dict(zip(values, point, strict=True)) for point in product(*values.values())]
        finer += 1


def best_of_sweep(case: Case, settings: Sequence[Setting]) -> float | None:
    """Least true power of any of the settings that truly meets the SLO; None when none does.

    All are ranked by one short window under the same arrivals; then the first that likely meet the SLO are measured as
    long as it takes, until some of them do.
    """
    runs = [
        simulation_run(case.profile, s, load=case.qps, requests=_RANKED_REQUESTS, seed=_TRUTH_SEED) for s in settings
    ]
    windows = simulate(case.profile, runs, threads=1)
    likely = [i for i, window in enumerate(windows) if window["p99_us"] < 1.2 * case.slo.limit_us]
    likely.sort(key=lambda i: windows[i]["power_w"])
    for start in range(0, len(likely), _CONTENDERS):
        truths = [truth(case, settings[i]) for i in likely[start : start + _CONTENDERS]]
        feasible = [power_w for power_w, p99_us in truths if p99_us < case.slo.limit_us]
        if feasible:
            return min(feasible)
    return None


def truth(case: Case, setting: Setting, *, windows: int = _TRUTH_WINDOWS) -> tuple[float, float]:
    """True power (W) and p99 (us): the mean of windows under arrivals that no trial sees."""
    target = TwinTarget(case.profile, qps=case.qps, seed=_TRUTH_SEED, knobs=KNOBS)
    target.apply(setting)
    shown = [target.measure() for _ in range(windows)]
    return statistics.fmean(w["power_w"] for w in shown), statistics.fmean(w["p99_us"] for w in shown)


def regret_pct(case: Case, setting: Setting | None, best_w: float) -> float:
    """How much more power than the best a held setting truly draws; 100 without one or over the SLO."""
    if setting is None:
        return 100.0
    power_w, p99_us = truth(case, setting)
    return 100.0 if p99_us > TOLERANCE * case.slo.limit_us else 100.0 * max(power_w / best_w - 1.0, 0.0)
