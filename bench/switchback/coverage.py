"""How often does the interval of a held saving cover the truth, with nothing to gain and with something?

The load of a simulated day is a wave of a random phase; power rises with it, drifts (an autoregressive process whose
memory is most of an hour), and has bursts of foreign work, all of which default and setting share, and each window has
noise of its own. A setting saves a share of the power (`saving_share`, at a load in the middle), and more of it at low
load than at high. The truth is the mean saving over the day.

Example:
  python -m bench.switchback.coverage --out bench/switchback/results
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Final

import numpy as np
from bench.results import tell_summary
from scipy.signal import lfilter

from bayop.switchback import HeldSaving, Schedule, Switchback, held_saving

WINDOW_S: Final = 60.0
WINDOWS: Final = 1440
SAVINGS: Final = (0.0, 0.02, 0.05, 0.2)
MEMORY: Final = 0.98
SCHEDULES: Final = {
    "even": Schedule(WINDOW_S, most_share=0.03, least_share=0.03),
    "adaptive": Schedule(WINDOW_S, most_share=0.03, least_share=0.01),
}


@dataclass(frozen=True, slots=True)
class Day:
    """A day by windows, in W: what the default would take in each, and what the setting would."""

    default_w: np.ndarray
    setting_w: np.ndarray
    saving_w: float


def simulate(saving_share: float, seed: int) -> Day:
    """One day."""
    random = np.random.default_rng(seed)
    phase = 2 * math.pi * (np.arange(WINDOWS) / WINDOWS - random.random())
    load = 0.5 + 0.35 * np.sin(phase)
    drift_w = lfilter([0.2], [1.0, -MEMORY], random.normal(size=WINDOWS))
    burst_w = 8.0 * random.exponential(size=WINDOWS) * (random.random(WINDOWS) < 0.02)
    power_w = 40.0 + 30.0 * load + drift_w
    saving_w = saving_share * power_w * (1.5 - load)
    measured_w = power_w + burst_w + random.normal(size=WINDOWS)
    return Day(measured_w, measured_w - saving_w, float(saving_w.mean()))


def watch(day: Day, schedule: Schedule, random: Random) -> tuple[HeldSaving, float]:
    """What the switchbacks of a day say, and the share of it that the default had."""
    switchbacks: list[Switchback] = []
    saving: HeldSaving | None = None
    now = 0
    while True:
        pause_s = schedule.pause_s(saving)
        now += 1
        while not schedule.is_due(pause_s, random):
            now += 1
        if now + 1 >= WINDOWS:
            return held_saving(switchbacks), len(switchbacks) / WINDOWS
        before_w, after_w = (float(day.setting_w[at]) for at in (now - 1, now + 1))
        switchbacks.append(Switchback(before_w, float(day.default_w[now]), after_w, pause_s))
        saving = held_saving(switchbacks)
        now += 1


def coverage(saving_share: float, schedule: Schedule, days: int) -> Mapping[str, float]:
    """How the intervals of so many days hold."""
    watched = []
    for seed in range(days):
        day = simulate(saving_share, seed)
        watched.append((day.saving_w, *watch(day, schedule, Random(seed))))
    return {
        "saving_share": saving_share,
        "covers": fmean(saving.low <= truth <= saving.high for truth, saving, _ in watched),
        "significant": fmean(saving.significant for _, saving, _ in watched),
        "bias_w": round(fmean(saving.value - truth for truth, saving, _ in watched), 3),
        "half_width_w": round(fmean((saving.high - saving.low) / 2 for _, saving, _ in watched), 2),
        "default_share": round(fmean(share for *_, share in watched), 4),
    }


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=1000, help="how many, for each saving")
    parser.add_argument("--out", type=Path, help="write summary.json and env.json into a folder")
    args = parser.parse_args()
    summary = {
        name: [coverage(share, schedule, args.days) for share in SAVINGS] for name, schedule in SCHEDULES.items()
    }
    tell_summary("bench.switchback.coverage", summary, args.out)


if __name__ == "__main__":
    main()
