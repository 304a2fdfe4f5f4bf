"""What does Yawn's evaluation look like in the twin, and what do BayOp's governor and Yawn's balancer do elsewhere?

Simulates memcached on the server of [Y] at every rate of its trace under menu, under Yawn and under BayOp's governor,
each with and without the balancer of awakened requests, and with idle states off, beside what [Y] published; and
memcached on the server of [D] at 5 to 50 % of its load, at its greatest frequency and under ondemand. Writes rows.csv.
`python -m bench.yawn.page` makes the tables of docs/idle.md.

Example:
  python -m bench.yawn.run --data ../shared/data --out bench/yawn/results
"""

from __future__ import annotations

import argparse
import csv
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
from bayop.experiments.idle.policy import POLICIES, Policy
from bayop.space import FREQ_MHZ
from bayop.twin.profile_library import load_profile
from bayop.twin.windows import simulate

SERVER: Final = "linux-memcached@python/bayop/papers/yawn_server.toml"
ELSEWHERE: Final = "linux-memcached"
LOADS: Final = (40e3, 80e3, 120e3, 200e3, 300e3, 400e3)
"""From 5 to 50 % of 800K requests/s, which that server answers with a p99 of 292 us at 2.9 GHz, and 900K with 704."""
CLOCKS: Final[Mapping[str, Mapping[str, Value]]] = {"2.9 GHz": {FREQ_MHZ: 2900.0}, "ondemand": {}}
REQUESTS: Final = 60_000
SEEDS: Final = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class Row:
    """One policy at one load: means over the seeds.

    Attributes:
        clock: How the frequency is set; empty for [Y]'s server, which has the governor performance.
        published_power_w: And the others: what [Y] measured.
    """

    server: str
    clock: str
    qps: float
    policy: str
    power_w: float
    mean_us: float
    p95_us: float
    p99_us: float
    published_power_w: float | None
    published_mean_us: float | None
    published_p95_us: float | None
    published_p99_us: float | None


@dataclass(frozen=True, slots=True)
class Case:
    """A server under a load."""

    server: str
    clock: str
    setting: Mapping[str, Value]
    qps: float


def rows(data: Path, threads: int) -> Iterator[Row]:
    """Every row."""
    with (data / "yawn_by_rate.csv").open(newline="", encoding="utf-8") as file:
        published = {(row["governor"], float(row["qps_offered"])): row for row in csv.DictReader(file)}
    for qps in sorted({qps for _, qps in published}):
        for policy in POLICIES:
            yield row(Case(SERVER, "", {}, qps), policy, published.get((policy.published, qps), {}), threads)
    for clock, setting in CLOCKS.items():
        for qps in LOADS:
            for policy in POLICIES:
                yield row(Case(ELSEWHERE, clock, setting, qps), policy, {}, threads)


def row(case: Case, policy: Policy, published: Mapping[str, str], threads: int) -> Row:
    """What a policy does, beside what was published of it, if anything."""
    profile = load_profile(case.server)
    runs = [policy.run(profile, case.qps, requests=REQUESTS, seed=seed, setting=case.setting) for seed in SEEDS]
    windows = simulate(profile, runs, threads=threads)
    shown = (
        statistics.fmean(window[quantity] for window in windows)
        for quantity in ("power_w", "mean_us", "p95_us", "p99_us")
    )
    measured = (float(published[column]) if published else None for column in ("power_w", "avg_us", "p95_us", "p99_us"))
    server = Path(case.server.partition("@")[2]).stem or case.server
    return Row(server, case.clock, case.qps, policy.name, *shown, *measured)


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="the published tables")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, metavar="DIR", help="write rows.csv and env.json into a folder here")
    args = parser.parse_args()
    found = []
    for each in rows(args.data, args.threads):
        found.append(each)
        print(line(each), flush=True)
    if args.out:
        folder = environment.results_folder(args.out)
        environment.write(folder, "bench.yawn.run", sys.argv[1:])
        write_rows(folder / "rows.csv", found)


def line(row: Row) -> str:
    """One row for people."""
    text = f"{row.qps / 1e3:4.0f}K {row.clock:8} {row.policy:16} "
    text += f"{row.power_w:6.1f} W {row.mean_us:6.1f} {row.p99_us:6.1f} us"
    if row.published_power_w is None:
        return text
    return f"{text}  published {row.published_power_w:.1f} W {row.published_mean_us:.1f} {row.published_p99_us:.1f} us"


if __name__ == "__main__":
    main()
