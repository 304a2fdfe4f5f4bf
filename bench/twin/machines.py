"""The published machines with turbo and hyperthreads ([C]: data/systor_*.csv) beside the twin.

    python -m bench.twin.machines ../shared/data        prints the table of docs/twin.md

Every row of the data is a default: no knob was turned. Medians over repeats; the authors' first trials, which go by
another name, are left out. Latencies are those of mutilate's reads on four clients, from sending a request to its
answer.
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bayop.study import open_study
from bayop.twin.profile_library import load_profile
from bayop.twin.validate import Cell, Comparison, simulate_cells

MACHINES: Final = {"node1": "xeon-e5-2630-v3", "node3": "xeon-silver-4314"}
"""Machine files of the twin by the data's names."""

SATURATED_P99_US: Final = 1000.0
"""From this measured p99 on a server is saturated."""

REQUESTS: Final = 200_000
"""Simulated requests of every row."""

FITTED: Final = {
    ("node1", "linux", "performance", "memcached"): (200_000.0, 800_000.0),
    ("node1", "linux", "performance", "silo"): (200_000.0,),
    ("node1", "ebbrt", "none", "memcached"): (200_000.0, 1_600_000.0),
    ("node3", "linux", "performance", "memcached"): (200_000.0, 800_000.0, 1_400_000.0),
    ("node3", "linux", "performance", "silo"): (600_000.0,),
    ("node3", "linux", "ondemand", "memcached"): (200_000.0,),
}
"""Loads whose power some number of the machine files was fitted to; all others are predictions."""

_TSC_GHZ: Final = 2.4  # of both machines: reference cycles count at the nominal frequency
_CPUS: Final = {("node1", "linux"): 32, ("node1", "ebbrt"): 16, ("node3", "linux"): 64}


@dataclass(frozen=True, slots=True)
class Series:
    """The loads of one application on one system and machine.

    Attributes:
        governor: Of the frequency; `none` where there is none.
        rows: Measured and simulated at every load that did not saturate the server, ascending.
    """

    machine: str
    os: str
    governor: str
    app: str
    rows: Sequence[Comparison]

    @property
    def fitted(self) -> tuple[float, ...]:
        """Loads that were fitted."""
        return FITTED.get((self.machine, self.os, self.governor, self.app), ())

    def errors(self, quantity: str, *, fitted: bool | None = None) -> list[float]:
        """Relative errors at every load, or at those that were fitted or were not."""
        some = [row for row in self.rows if fitted is None or (row.cell.load in self.fitted) is fitted]
        return [error for row in some if (error := row.error(quantity)) is not None]


def series_of(data: Path, *, requests: int = REQUESTS, threads: int = 1) -> Iterator[Series]:
    """Every series, simulated."""
    for app in ("memcached", "silo"):
        groups: dict[tuple[str, str, str], list[Cell]] = defaultdict(list)
        for machine, os, governor, cell in _cells(data / f"systor_{app}.csv"):
            if cell.measured["p99_us"] < SATURATED_P99_US and "power_w" in cell.measured:
                groups[machine, os, governor].append(cell)
        for (machine, os, governor), cells in sorted(groups.items()):
            profile = load_profile(f"{os}-{app}@{MACHINES[machine]}")
            if governor != "none":
                profile = profile.with_values({"os.frequency_governor": governor})
            simulated = simulate_cells(profile, cells, requests=requests, seed=0, threads=threads)
            rows = [Comparison(c, s) for c, s in zip(cells, simulated, strict=True)]
            yield Series(machine, os, governor, app, rows)


def _cells(path: Path) -> Iterator[tuple[str, str, str, Cell]]:
    groups: dict[tuple[str, str, str, float], list[Mapping[str, float]]] = defaultdict(list)
    for row in open_study(path).iter_rows(named=True):
        if row["study"].endswith(")"):  # the authors' first trials
            continue
        machine, _, governor = row["machine"].replace(",", "").split()
        groups[machine, row["os"], governor, row["qps_offered"]].append(row)
    for (machine, os, governor, load), rows in sorted(groups.items()):
        names = ("power_w", "p50_us", "p99_us", "ref_cycles", "duration_s")
        of = {name: [row[name] for row in rows if row.get(name) is not None] for name in names}
        measured = {name: statistics.median(values) for name, values in of.items() if values}
        if "ref_cycles" in measured:
            busy_s = measured["ref_cycles"] / (_TSC_GHZ * 1e9)
            measured["utilization"] = busy_s / (_CPUS[machine, os] * measured["duration_s"])
        yield machine, os, governor, Cell(os, load, {}, len(rows), measured)


def table(found: Sequence[Series]) -> str:
    """Markdown: errors in per cent, power's at every load from least to greatest."""
    lines = [
        "| machine | system | application | loads | power: fitted | power: predicted | utilization | p50 | p99 |",
        "|---" * 9 + "|",
    ]
    for s in found:
        system = {"none": "EbbRT", "performance": "Linux"}.get(s.governor, f"Linux, {s.governor}")
        loads = [row.cell.load / 1000 for row in s.rows]
        cells = [_range(s.errors("power_w", fitted=fitted)) for fitted in (True, False)]
        cells += [_range(s.errors(name)) for name in ("utilization", "p50_us", "p99_us")]
        name = f"{min(loads):g}K-{max(loads):g}K ({len(loads)})"
        lines.append(f"| {s.machine} | {system} | {s.app} | {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _range(errors: Sequence[float]) -> str:
    if not errors:
        return "-"
    least, greatest = (f"{round(100 * e, 1) + 0.0:+.1f}" for e in (min(errors), max(errors)))
    return least if least == greatest else f"{least} to {greatest}"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder of systor_memcached.csv and systor_silo.csv")
    print(table(list(series_of(parser.parse_args().data))))


if __name__ == "__main__":
    main()
