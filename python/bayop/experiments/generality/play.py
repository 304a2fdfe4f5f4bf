"""The generality experiment ([D] section 4.3): services of microseconds to seconds on machines that differ.

For each service on each machine: the peak, which is the greatest load at which the default policy meets the SLO; then,
at two shares of it, the default policy against a search. All of it runs on the twin, so what a setting truly draws can
be measured afterwards, under arrivals that the search has not seen.
"""

from __future__ import annotations

import math
import statistics
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from bayop import _core
from bayop.experiments.generality.record import LOAD_SHARES, Outcome
from bayop.objective import Objective
from bayop.optimize import make_optimizer
from bayop.optimize.base import Problem
from bayop.search import Result, run_search
from bayop.slo import Slo
from bayop.space import Setting, default_setting
from bayop.twin.profile_library import load_profile
from bayop.twin.target import BATCHES, REQUESTS_PER_WINDOW, TwinTarget

MACHINES: Final = ("xeon-e5-2690", "xeon-e5-2630-v3", "xeon-silver-4314", "epyc-ena")
"""Four machines like those of [D] Table 2, from fine steps of everything to three frequencies and delays of 50 us."""

SLOS: Final = {"memcached": "p99<500us", "img-dnn": "p99<10ms", "xapian": "p99<10ms", "sphinx": "p99<3s"}
"""The services and their objectives: memcached's from [D], Tailbench's as OSML (Shi et al., FAST 2023) sets them."""

MAX_TRIALS: Final = 30
"""The papers' budget of a search."""

TOLERANCE: Final = 1.02
"""A setting meets the SLO when its true latency exceeds it by no more than measurements scatter."""

# A trial is as long as the papers' and long enough for its tail: in each batch, ten requests beyond the 99th percentile
# and fifty mean service times, a tenth of which is warmed up. More requests than the twin's usual window add nothing,
# but that a queue that grows since the cores are overloaded by a fiftieth must come to the SLO's limit within a batch.
_TRIAL_S: Final = 20.0
_LEAST_BATCH_REQUESTS: Final = 1_000
_LEAST_BATCH_SERVICES: Final = 50.0
_LEAST_BATCH_LIMITS: Final = 50.0

_PEAK_STEPS: Final = 10
_TRUTH_SEED: Final = 1_000_003
_TRUTH_REQUESTS: Final = 60_000
_TRUTH_WINDOWS: Final = 6


@dataclass(frozen=True, slots=True)
class Truth:
    """Several long windows of one setting.

    Attributes:
        power_w: Mean power in each window; windows of the same number have the same arrivals for every setting.
        latency_us: Mean latency at the SLO's quantile.
        utilization: Mean utilization.
    """

    power_w: tuple[float, ...]
    latency_us: float
    utilization: float


@dataclass(frozen=True, slots=True)
class Case:
    """A service on a machine.

    Attributes:
        slo: Its objective, as `SLOS` has it.
    """

    service: str
    machine: str
    slo: Slo

    @property
    def profile_name(self) -> str:
        """Where the twin finds it."""
        return f"linux-{self.service}@{self.machine}"


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What searches at one load of a case are measured by: the default policy there."""

    peak_qps: float
    load_share: float
    default: Truth


def cases(services: Sequence[str] = tuple(SLOS), machines: Sequence[str] = MACHINES) -> list[Case]:
    """Every service on every machine."""
    return [Case(service, machine, Slo.parse(SLOS[service])) for service in services for machine in machines]


def play_case(case: Case, seeds: Sequence[int], *, on_search: Callable[[], None] = lambda: None) -> Iterator[Outcome]:
    """Finds the peak, then searches at each share of it, once a seed.

    Args:
        case: The service on its machine.
        seeds: Seeds of the searches and of the arrivals that they see.
        on_search: Called after every search, for display.
    """
    # The default of [D] on every machine, also on those that were measured with another.
    profile = load_profile(case.profile_name).with_values({"os.frequency_governor": "ondemand"})
    peak = peak_qps(profile, case.slo)
    for share in LOAD_SHARES:
        qps = share * peak
        default = true_window(profile, case.slo, qps, None)
        yardstick = Yardstick(peak, share, default)
        for seed in seeds:
            target = TwinTarget(profile, qps=qps, seed=seed, requests=trial_requests(profile, case.slo, qps))
            objective = Objective.parse("power", case.slo)
            problem = Problem(target.space.without_auto(), case.slo, objective, qps, default=target.baseline())
            result = run_search(target, problem, make_optimizer("grey-box", problem, seed=seed), max_trials=MAX_TRIALS)
            held = default if result.setting is None else true_window(profile, case.slo, qps, result.setting)
            yield _outcome(case, yardstick, seed, result, held)
            on_search()


def play(
    todo: Sequence[Case], seeds: Sequence[int], *, threads: int, on_search: Callable[[], None] = lambda: None
) -> Iterator[list[Outcome]]:
    """Plays cases side by side; yields each one's outcomes, in the order of the cases.

    Arguments as `play_case`, which says what happens to one; results don't depend on the number of threads.
    """
    over = threading.Event()

    def outcomes(case: Case) -> list[Outcome]:
        rows = play_case(case, seeds, on_search=on_search)
        return list(takewhile(lambda _: not over.is_set(), rows))

    with ThreadPoolExecutor(threads) as pool:
        try:
            yield from pool.map(outcomes, todo)
        finally:  # else who leaves early, by Ctrl-C say, would wait for every search of the cases under way
            over.set()


def service_s(profile: _core.Profile) -> float:
    """Mean service time of a request at the greatest frequency, the operating system's part left out, in s."""
    values = profile.values()
    return 1e-6 * (values["app.request_kcycles"] * 1000.0 / max(profile.freq_mhz) + values["app.request_us"])


def trial_requests(profile: _core.Profile, slo: Slo, qps: float) -> int:
    """Requests in the window of a trial: as long as the service needs to show its tail, and overloaded cores theirs."""
    least = max(_LEAST_BATCH_REQUESTS, math.ceil(qps * _LEAST_BATCH_SERVICES * service_s(profile)))
    tail = min(max(math.ceil(qps * _TRIAL_S), BATCHES * least), REQUESTS_PER_WINDOW)
    return max(tail, BATCHES * math.ceil(qps * _LEAST_BATCH_LIMITS * 1e-6 * slo.limit_us))


def peak_qps(profile: _core.Profile, slo: Slo) -> float:
    """The greatest load at which the default policy meets the SLO, by bisection.

    To within a thousandth of what the cores could serve if requests cost nothing but their service time.
    """
    low, high = 0.0, 1.2 * profile.values()["machine.cores"] / service_s(profile)
    for _ in range(_PEAK_STEPS):
        middle = (low + high) / 2
        trial = trial_requests(profile, slo, middle)
        requests = max(trial, min(4 * trial, REQUESTS_PER_WINDOW))
        target = TwinTarget(profile, qps=middle, seed=_TRUTH_SEED, requests=requests)
        low, high = (middle, high) if slo.met_by(target.baseline()) else (low, middle)
    return low


def true_window(profile: _core.Profile, slo: Slo, qps: float, setting: Setting | None) -> Truth:
    """What a setting truly does, None being the default policy: long windows under arrivals that no search sees."""
    requests = max(_TRUTH_REQUESTS, trial_requests(profile, slo, qps))
    target = TwinTarget(profile, qps=qps, seed=_TRUTH_SEED, requests=requests)
    target.apply(default_setting(target.space) if setting is None else setting)
    windows = [target.measure() for _ in range(_TRUTH_WINDOWS)]
    return Truth(
        power_w=tuple(w["power_w"] for w in windows),
        latency_us=statistics.fmean(w[slo.quantity] for w in windows),
        utilization=statistics.fmean(w["utilization"] for w in windows),
    )


def saving_of(default: Truth, held: Truth) -> tuple[float, float]:
    """Reduction of power from one setting to another, and half of its 95 % confidence interval.

    The windows are pairs under the same arrivals, so the interval is that of a mean of paired ratios (Student's t).
    """
    from scipy import stats

    savings = [1.0 - after / before for before, after in zip(default.power_w, held.power_w, strict=True)]
    t = float(stats.t.ppf(0.975, len(savings) - 1))
    return statistics.fmean(savings), t * statistics.stdev(savings) / math.sqrt(len(savings))


def _outcome(case: Case, yardstick: Yardstick, seed: int, result: Result, held: Truth) -> Outcome:
    default = yardstick.default
    saving, saving_ci = saving_of(default, held)
    return Outcome(
        service=case.service,
        machine=case.machine,
        slo=str(case.slo),
        peak_qps=yardstick.peak_qps,
        load_share=yardstick.load_share,
        qps=yardstick.load_share * yardstick.peak_qps,
        seed=seed,
        trial_s=statistics.fmean(t.measurement["duration_s"] for t in result.trials),
        trials=len(result.trials),
        stopped=result.stopped,
        setting=result.setting,
        default_power_w=statistics.fmean(default.power_w),
        default_latency_us=default.latency_us,
        default_utilization=default.utilization,
        power_w=statistics.fmean(held.power_w),
        latency_us=held.latency_us,
        utilization=held.utilization,
        saving=saving,
        saving_ci=saving_ci,
        meets_slo=held.latency_us <= TOLERANCE * case.slo.limit_us,
    )
