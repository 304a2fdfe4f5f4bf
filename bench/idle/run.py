"""How much energy do idle governors leave on the table, and how late do they wake the core?

Replays recorded idle periods (data/idle, the published interrupt logs) and synthetic ones (six kinds, five seeds) on
the idle states of three machines under every governor. Writes rows.jsonl, a row per machine, trace and governor, and
summary.json: for all, for recorded and synthetic traces apart and for each machine, the geometric mean of energy over
the clairvoyant minimum and the mean latency of each governor; how often a governor with another in its shadow was no
worse than that one; how often the 99th percentile stayed within a limit.

Example:
  python -m bench.idle.run --data ../shared/data --out bench/idle/results
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import Final

from bench import environment

from bayop.idle.machines import MACHINES
from bayop.idle.replay import Replayed, governors, replay
from bayop.idle.synthetic import KINDS, synthetic_trace
from bayop.idle.trace import Trace, read_trace

ON: Final = ("sandy-bridge", "skylake-sp", "zen2")
SEEDS: Final = range(6, 11)
"""The governors' constants were chosen on traces of seeds 1 to 5."""
RECORDED: Final = ("idle/r_*.csv.gz", "interrupts_netpipe_*.csv.gz")

PRICES: Final = (0.05, 0.1, 0.2, 0.3, 0.5, 0.8)
"""Of latency, at which `bayop` is replayed: how the two means move against each other."""
LIMITS_US: Final = (20, 50)
SHADOWS: Final = {"bayop-menu": "menu", "bayop-teo": "teo"}
ENERGY_TOLERANCE: Final = 0.003
LATENCY_TOLERANCE: Final = 1.005
"""Up to which a governor is no worse than the one in its shadow: 0.3 points of energy, 0.5 % of latency."""


@dataclass(frozen=True, slots=True)
class Row:
    """One replay.

    Attributes:
        machine: Whose idle states.
        label: The governor, with its price or limit where it has one.
        replayed: What came of it.
    """

    machine: str
    label: str
    replayed: Replayed


def traces(data: Path) -> list[Trace]:
    """Every trace, the recorded ones first."""
    recorded = [read_trace(path) for pattern in RECORDED for path in sorted(data.glob(pattern))]
    return recorded + [synthetic_trace(kind, seed) for kind in KINDS for seed in SEEDS]


def is_synthetic(trace: str) -> bool:
    """Whether a trace of this name is a synthetic one."""
    return trace.partition("-")[0] in KINDS


def contenders() -> Iterator[tuple[str, str, Mapping[str, float]]]:
    """Label, governor and what it is told."""
    for governor in governors():
        if governor == "bayop":
            yield from ((f"bayop, price {price:g}", governor, {"price": price}) for price in PRICES)
        elif governor == "bayop-slo":
            yield from ((f"bayop-slo, {limit_us} us", governor, {"limit_us": limit_us}) for limit_us in LIMITS_US)
        else:
            yield governor, governor, {}


def measure(data: Path) -> Iterator[Row]:
    """Every replay."""
    everything = traces(data)
    for name in ON:
        machine = MACHINES[name]
        for trace in everything:
            for label, governor, told in contenders():
                price, limit_us = told.get("price", 0.1), int(told.get("limit_us", 50))
                yield Row(name, label, replay(trace, governor, machine, price=price, limit_us=limit_us))
        print(f"{name}: done", file=sys.stderr)


def means(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Of each governor over all traces."""
    return {
        label: {
            "energy_over_clairvoyant": round(geometric_mean(r.energy_over_clairvoyant for r in own), 4),
            "wake_latency_mean_us": round(fmean(r.wake_latency_mean_us for r in own), 2),
            "wake_latency_p99_us": round(fmean(r.wake_latency_p99_us for r in own), 1),
        }
        for label, own in by_label(rows).items()
    }


def by_label(rows: Iterable[Row]) -> dict[str, list[Replayed]]:
    """What came of each governor."""
    groups: dict[str, list[Replayed]] = {}
    for row in rows:
        groups.setdefault(row.label, []).append(row.replayed)
    return groups


def no_worse(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """In how many traces a governor with another in its shadow took no more energy and woke no later."""
    found = {(row.machine, row.label, row.replayed.trace): row.replayed for row in rows}
    counts: dict[str, dict[str, float]] = {}
    for label, shadow in SHADOWS.items():
        pairs = [(own, found[m, shadow, t]) for (m, name, t), own in found.items() if name == label]
        good = [
            own.energy_over_clairvoyant <= other.energy_over_clairvoyant + ENERGY_TOLERANCE
            and own.wake_latency_mean_us <= other.wake_latency_mean_us * LATENCY_TOLERANCE
            for own, other in pairs
        ]
        counts[label] = {"traces": len(good), "no_worse": sum(good), "share": round(sum(good) / len(good), 4)}
    return counts


def within_limits(rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    """On how many traces the 99th percentile stayed within the limit."""
    groups = by_label(rows)
    counts = {}
    for limit_us in LIMITS_US:
        own = groups[f"bayop-slo, {limit_us} us"]
        counts[f"{limit_us} us"] = {"traces": len(own), "within": sum(r.wake_latency_p99_us <= limit_us for r in own)}
    return counts


def summary(rows: Sequence[Row]) -> dict[str, object]:
    """What summary.json says."""
    per_machine = {name: means([row for row in rows if row.machine == name]) for name in ON}
    return {
        "all": means(rows),
        "recorded": means([row for row in rows if not is_synthetic(row.replayed.trace)]),
        "synthetic": means([row for row in rows if is_synthetic(row.replayed.trace)]),
        **per_machine,
        "recorded_by_machine": {
            name: means([row for row in rows if row.machine == name and not is_synthetic(row.replayed.trace)])
            for name in ON
        },
        "shadow": no_worse(rows),
        "shadow_by_machine": {name: no_worse([row for row in rows if row.machine == name]) for name in ON},
        "slo": within_limits(rows),
    }


def main() -> None:
    """Replays and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the recorded data")
    parser.add_argument("--out", type=Path, required=True, help="a folder for the results is made in it")
    args = parser.parse_args()
    folder = environment.results_folder(args.out)
    environment.write(folder, "bench.idle.run", sys.argv[1:])
    rows = list(measure(args.data))
    with (folder / "rows.jsonl").open("w", encoding="utf-8") as file:
        for row in rows:
            numbers = {k: round(v, 5) if isinstance(v, float) else v for k, v in asdict(row.replayed).items()}
            numbers.pop("ns_per_decision")  # how fast they are is what `cargo bench` tells
            file.write(json.dumps({"machine": row.machine, "label": row.label, **numbers}) + "\n")
    (folder / "summary.json").write_text(json.dumps(summary(rows), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
