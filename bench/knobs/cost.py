"""What choosing costs in a space of many numeric knobs: time and memory of one search, in a process of its own.

A bowl in every knob stands for the server; it answers at once. Times are the processor's, so that what else runs on
the machine counts little. Prints a line of JSON.

Example:
  python -m bench.knobs.cost --knobs 8
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import statistics
import time
from dataclasses import asdict, dataclass

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from bayop.domains import Steps
from bayop.measurement import Measurement
from bayop.objective import Objective
from bayop.optimize import make_optimizer
from bayop.optimize.base import Problem
from bayop.search import SearchSteps
from bayop.slo import Slo
from bayop.space import FREQ_MHZ, RX_USECS, Knob, Setting, Space, fastest_setting
from bayop.target.base import Modelled

_SLO = Slo(0.99, 500.0)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one search took.

    Attributes:
        knobs: How many, all numeric.
        trials: How many were chosen.
        ms_per_trial: Median processor time of a trial.
        worst_ms: Of the slowest.
        peak_mb: The process's peak memory, the interpreter and its libraries included.
    """

    knobs: int
    trials: int
    ms_per_trial: float
    worst_ms: float
    peak_mb: float


class Bowl(Modelled):
    """Every knob saves power up to its middle, costs more beyond, and takes latency all the way."""

    name, description, qps = "bowl", "a bowl in every knob", 100_000.0
    quantities = frozenset({"power_w", "p99_us", "utilization"})

    def __init__(self, knobs: int) -> None:
        own = (Knob(f"app.size_{i}", Steps(0, 100, 1), safest="low") for i in range(knobs - 2))
        delay = Knob(RX_USECS, Steps(2, 1022, 2), safest="low")
        self.space = Space((delay, Knob(FREQ_MHZ, Steps(1200, 2900, 100), safest="high"), *own))
        self._setting = fastest_setting(self.space)

    def apply(self, setting: Setting) -> Setting:
        """Selects a setting."""
        self._setting = self.space.check(setting)
        return self._setting

    def measure(self) -> Measurement:
        """What the setting shows."""
        places = []
        for knob in self.space.knobs:
            low, *_, high = knob.numbers()
            place = (float(self._setting[knob.id]) - low) / (high - low)
            places.append(place if knob.safest == "low" else 1.0 - place)
        power_w = 100.0 * math.prod(1.0 - 0.1 * (1.0 - (2.0 * place - 1.0) ** 2) for place in places)
        p99_us = 100.0 * math.exp(4.0 * sum(places) / len(places))
        return Measurement({"power_w": power_w, "p99_us": p99_us, "utilization": 0.4})

    def baseline(self) -> None:
        """There is no default."""

    def restore(self) -> None:
        """Back to the fastest setting."""
        self._setting = fastest_setting(self.space)


def main() -> None:
    """Measures one search."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--knobs", type=int, default=8, metavar="N")
    parser.add_argument("--optimizer", default="grey-box", metavar="NAME")
    parser.add_argument("--trials", type=int, default=15, metavar="N")
    args = parser.parse_args()
    print(json.dumps(asdict(cost(args.knobs, args.optimizer, args.trials))))


def cost(knobs: int, optimizer: str, trials: int) -> Cost:
    """Runs one search, which should have this process for itself."""
    target = Bowl(knobs)
    problem = Problem(target.space, _SLO, Objective.parse("power", _SLO), target.qps)
    search = SearchSteps(
        problem, make_optimizer(optimizer, problem, seed=0), max_trials=trials, timer=time.process_time
    )
    while (setting := search.ask()) is not None:
        search.tell(target.apply(setting), target.measure())
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    times_ms = [1000.0 * trial.chosen_in_s for trial in search.trials]
    return Cost(knobs, len(times_ms), statistics.median(times_ms), max(times_ms), peak_mb)


if __name__ == "__main__":
    main()
