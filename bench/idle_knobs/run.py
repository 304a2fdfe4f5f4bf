"""What do the idle governor and the limit of exit latency add to interrupt delay and frequency?

On the twin of the papers' server under memcached, at several loads: the cheapest setting within an SLO when the first
two knobs may be set, and with each of the idle knobs and both besides. Every setting of a grid is simulated, so that no
search is judged; what looks cheapest is simulated anew with other seeds, until one keeps the SLO there too. Writes
rows.csv; `python -m bench.idle_knobs.page` makes the table of docs/idle.md.

Example:
  python -m bench.idle_knobs.run --out bench/idle_knobs/results
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench import environment
from bench.rows import write_rows

from bayop.domains import Value
from bayop.space import AUTO, FREQ_MHZ, IDLE_GOVERNOR, MAX_LATENCY_US, RX_USECS
from bayop.twin.profile_library import load_profile
from bayop.twin.windows import simulate, simulation_run

SERVER: Final = "linux-memcached"
LOADS: Final = (40e3, 100e3, 200e3, 400e3)
LIMITS_US: Final = (80.0, 200.0, 500.0)
"""SLOs of the p99."""
DELAYS_US: Final = (2.0, 20.0, 60.0, 100.0, 200.0, 300.0)
FREQS_MHZ: Final = (1200.0, 1500.0, 1700.0, 2100.0, 2900.0)
GOVERNORS: Final = ("menu", "teo", "yawn", "bayop")
"""The profile's own first."""
LATENCIES_US: Final[tuple[Value, ...]] = (AUTO, 80.0, 10.0, 2.0)
"""Of the machine's states: C7 takes 109 us to leave, C3 80, C1E 10, C1 2."""
REQUESTS: Final = 40_000
SEEDS: Final = (11, 12, 13)
"""Of what is simulated anew."""
KNOBS: Final[Mapping[str, tuple[str, ...]]] = {
    "delay, frequency": (),
    "+ governor": (IDLE_GOVERNOR,),
    "+ max latency": (MAX_LATENCY_US,),
    "+ both": (IDLE_GOVERNOR, MAX_LATENCY_US),
}
"""Which idle knobs may be set beside the first two."""

Setting = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Row:
    """The cheapest setting of some knobs at one load within one SLO: means over the seeds.

    Attributes:
        limit_us: The SLO's limit of the p99.
        default_power_w: Power of the server left alone, whether or not it keeps the SLO.
        power_w: And the others: none where no setting keeps the SLO.
    """

    qps: float
    limit_us: float
    knobs: str
    default_power_w: float
    default_p99_us: float
    power_w: float | None
    p99_us: float | None
    rx_usecs: float | None
    freq_mhz: float | None
    governor: str | None
    max_latency_us: str | None


class Server:
    """The twin at one load, with every setting of the grid simulated once."""

    def __init__(self, qps: float, threads: int) -> None:
        self._qps = qps
        self._threads = threads
        self._profile = load_profile(SERVER)
        pairs = itertools.product(DELAYS_US, FREQS_MHZ, GOVERNORS, LATENCIES_US)
        self.settings: list[Setting] = [
            {RX_USECS: delay, FREQ_MHZ: freq, IDLE_GOVERNOR: governor, MAX_LATENCY_US: latency}
            for delay, freq, governor, latency in pairs
        ]
        self._seen = self._simulate(self.settings, seed=1)
        self._again: dict[int, tuple[float, float]] = {}
        default = [self._simulate([{}], seed=seed)[0] for seed in SEEDS]
        self.default = _mean(default)

    def _simulate(self, settings: list[Setting], *, seed: int) -> list[tuple[float, float]]:
        runs = [simulation_run(self._profile, s, load=self._qps, requests=REQUESTS, seed=seed) for s in settings]
        return [(m["power_w"], m["p99_us"]) for m in simulate(self._profile, runs, threads=self._threads)]

    def cheapest(self, limit_us: float, free: tuple[str, ...]) -> tuple[Setting, float, float] | None:
        """The setting of least power that keeps the SLO, power and p99; idle knobs not free are as by default."""
        held = {IDLE_GOVERNOR: GOVERNORS[0], MAX_LATENCY_US: LATENCIES_US[0]}
        allowed = [
            index
            for index, setting in enumerate(self.settings)
            if self._seen[index][1] < limit_us and all(setting[knob] == held[knob] for knob in held if knob not in free)
        ]
        for index in sorted(allowed, key=lambda index: self._seen[index][0]):
            if index not in self._again:
                self._again[index] = _mean([self._simulate([self.settings[index]], seed=seed)[0] for seed in SEEDS])
            power_w, p99_us = self._again[index]
            if p99_us < limit_us:
                return self.settings[index], power_w, p99_us
        return None


def _mean(windows: list[tuple[float, float]]) -> tuple[float, float]:
    return statistics.fmean(power_w for power_w, _ in windows), statistics.fmean(p99_us for _, p99_us in windows)


def rows(threads: int) -> Iterator[Row]:
    """Every row."""
    for qps in LOADS:
        server = Server(qps, threads)
        for limit_us in LIMITS_US:
            for name, free in KNOBS.items():
                found = server.cheapest(limit_us, free)
                if found is None:
                    yield Row(qps, limit_us, name, *server.default, None, None, None, None, None, None)
                    continue
                setting, power_w, p99_us = found
                yield Row(
                    qps, limit_us, name, *server.default, power_w, p99_us,
                    float(setting[RX_USECS]), float(setting[FREQ_MHZ]),
                    str(setting[IDLE_GOVERNOR]), str(setting[MAX_LATENCY_US]),
                )  # fmt: skip


def line(row: Row) -> str:
    """One row for people."""
    text = f"{row.qps / 1e3:4.0f}K p99<{row.limit_us:g}us {row.knobs:17} default {row.default_power_w:5.1f} W"
    if row.power_w is None:
        return f"{text}  nothing keeps it"
    where = f"{row.rx_usecs:g} us, {row.freq_mhz:g} MHz, {row.governor}, {row.max_latency_us}"
    return f"{text}  {row.power_w:6.2f} W {row.p99_us:6.1f} us  {where}"


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, metavar="DIR", help="write rows.csv and env.json into a folder here")
    args = parser.parse_args()
    found = []
    for each in rows(args.threads):
        found.append(each)
        print(line(each), flush=True)
    if args.out:
        folder = environment.results_folder(args.out)
        environment.write(folder, "bench.idle_knobs.run", sys.argv[1:])
        write_rows(folder / "rows.csv", found)


if __name__ == "__main__":
    main()
