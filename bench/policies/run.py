"""Where does one static setting per load stand between the default and the policies of the literature?

Simulates memcached and silo on Linux under policies that choose a frequency core by core at every request, each with
the default's interrupt moderation and with the best fixed delay, and under every static setting. Writes rows.jsonl: a
row per service, load, SLO and policy. `python -m bench.policies.page` makes tables and figure of docs/policies.md.

Example:
  python -m bench.policies.run --out bench/policies/results
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Final

from bench import environment

from bayop import _core
from bayop.measurement import Measurement
from bayop.space import FREQ_MHZ, RX_USECS
from bayop.twin.profile_library import load_profile
from bayop.twin.windows import simulate

LOADS: Final = {"memcached": (200e3, 400e3, 600e3), "silo": (50e3, 100e3, 200e3)}
SLOS_US: Final = {"memcached": (200.0, 500.0), "silo": (500.0, 1000.0)}
DELAYS_US: Final = (
    *(2.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0, 120.0, 140.0, 160.0, 180.0, 200.0),
    *(250.0, 300.0, 350.0, 400.0, 450.0, 500.0),
)
POLICY_DELAYS_US: Final = (60.0, 80.0, 100.0, 140.0, 200.0, 250.0, 300.0, 350.0, 400.0, 450.0)
"""Those that are tried with other policies than static ones, which take longer to simulate."""
POLL_BUDGETS: Final = (64.0, 4.0)
"""Packets in one poll from which on `nmap` counts a core as polling: the kernel's own first."""

TOLERANCE: Final = 1.01
"""A feedback loop ends on the SLO, now a little above and now below it."""

CONTENDERS: Final = 4


@dataclass(frozen=True, slots=True)
class Windows:
    """How long something is simulated, and how often."""

    warmup_s: float
    duration_s: float
    seeds: tuple[int, ...]


RANKED: Final = Windows(0.1, 0.3, (1,))
"""By which static settings are ranked."""
TOLD: Final = Windows(1.5, 1.0, (11, 12))
"""By which all that is told is measured: feedback loops have settled, and so have the vectors' phases."""

Values = Mapping[str, float | str]
OWN_CLOCKS: Final[Values] = {"machine.frequency_domain_cores": 1.0}


@dataclass(frozen=True, slots=True)
class Policy:
    """What decides frequencies under an SLO: values of the profile."""

    name: str
    slo_us: float
    values: Values


@dataclass(frozen=True, slots=True)
class Row:
    """One policy for one service, load and SLO.

    Attributes:
        rx_usecs: The fixed delay; None is the driver's adaptive moderation.
        freq_mhz: The pinned frequency; 0 where a policy chooses.
    """

    app: str
    qps: float
    slo_us: float
    policy: str
    rx_usecs: float | None
    freq_mhz: float
    power_w: float
    p50_us: float
    p99_us: float
    utilization: float

    @property
    def meets(self) -> bool:
        """Whether the SLO is met."""
        return self.p99_us <= TOLERANCE * self.slo_us


class Bench:
    """One service under one load."""

    def __init__(self, app: str, qps: float, threads: int) -> None:
        self._app, self._qps, self._threads = app, qps, threads
        self._profile = load_profile(f"linux-{app}")

    def rows(self, slo_us: float) -> Iterator[Row]:
        """Every policy under one SLO."""
        yield self._told(Policy("default", slo_us, {}))
        yield self._told(Policy("greatest frequency", slo_us, {}), {FREQ_MHZ: max(self._profile.freq_mhz)})
        yield self._nmap(slo_us)
        rubik, oracle = (self._slack(name, slo_us) for name in ("rubik", "oracle"))
        yield self._told(rubik)
        yield self._told(changed(rubik, "transitions of 500 us", "os.frequency_transition_us", 500.0))
        yield self._static(slo_us)
        delayed = self._with_best_delay(rubik)
        yield delayed
        yield self._told(replace(oracle, name="oracle, best delay"), {RX_USECS: delayed.rx_usecs or 0.0})
        if self._app == "memcached":  # silo's spare core would share a clock with cores that serve
            shared = changed(rubik, "a clock per package", "machine.frequency_domain_cores", 8.0)
            yield self._told(shared)
            yield self._told(replace(shared, name=f"{shared.name}, best delay"), {RX_USECS: delayed.rx_usecs or 0.0})

    def floor(self) -> Row:
        """The least power of all settings, whatever the latency."""
        return min(self._sweep, key=lambda row: row.power_w)

    def _slack(self, governor: str, slo_us: float) -> Policy:
        return Policy(
            governor, slo_us, {**OWN_CLOCKS, "os.frequency_governor": governor, "os.frequency_slo_us": slo_us}
        )

    def _nmap(self, slo_us: float) -> Row:
        """The polling threshold of least power that meets the SLO, as its authors find theirs by a profile run."""
        nmap = Policy("nmap", slo_us, {**OWN_CLOCKS, "os.frequency_governor": "nmap"})
        budgets = [changed(nmap, f"{n:g} packets", "os.frequency_poll_budget", n) for n in POLL_BUDGETS]
        rows = [self._told(policy) for policy in budgets]
        return best(rows) or rows[-1]

    def _static(self, slo_us: float) -> Row:
        ranked = sorted((row for row in self._sweep if row.p99_us < 1.1 * slo_us), key=lambda row: row.power_w)
        for start in range(0, len(ranked), CONTENDERS):
            some = ranked[start : start + CONTENDERS]
            found = best([self._told(Policy("static", slo_us, {}), setting_of(row)) for row in some])
            if found:
                return found
        raise SystemExit(f"no setting meets p99<{slo_us:g}us for {self._app} at {self._qps:g} requests/s")

    def _with_best_delay(self, policy: Policy) -> Row:
        named = replace(policy, name=f"{policy.name}, best delay")
        settings = [{RX_USECS: delay} for delay in POLICY_DELAYS_US if delay < policy.slo_us]
        ranked = self._simulated(named, settings, replace(TOLD, duration_s=0.3, seeds=(1,)))
        likely = sorted((row for row in ranked if row.p99_us < 1.03 * policy.slo_us), key=lambda row: row.power_w)
        told = [self._told(named, {RX_USECS: row.rx_usecs or 0.0}) for row in likely[:2]]
        return best(told) or min(told, key=lambda row: row.p99_us)

    @cached_property
    def _sweep(self) -> list[Row]:
        settings = [{RX_USECS: d, FREQ_MHZ: f} for d, f in product(DELAYS_US, self._profile.freq_mhz)]
        return self._simulated(Policy("static", 0.0, {}), settings, RANKED)

    def _told(self, policy: Policy, setting: Mapping[str, float] | None = None) -> Row:
        return self._simulated(policy, [setting or {}], TOLD)[0]

    def _simulated(self, policy: Policy, settings: Sequence[Mapping[str, float]], windows: Windows) -> list[Row]:
        profile = self._profile.with_values(dict(policy.values))
        common: _core.Run = {"qps": self._qps, "duration_s": windows.duration_s, "warmup_s": windows.warmup_s}
        runs: list[_core.Run] = [
            {**common, "setting": dict(s), "seed": seed} for s in settings for seed in windows.seeds
        ]
        shown = simulate(profile, runs, threads=self._threads)
        each = len(windows.seeds)
        return [self._row(policy, s, shown[each * i : each * (i + 1)]) for i, s in enumerate(settings)]

    def _row(self, policy: Policy, setting: Mapping[str, float], windows: Sequence[Measurement]) -> Row:
        power_w, p50_us, p99_us, utilization = (
            statistics.fmean(w[q] for w in windows) for q in ("power_w", "p50_us", "p99_us", "utilization")
        )
        return Row(
            app=self._app,
            qps=self._qps,
            slo_us=policy.slo_us,
            policy=policy.name,
            rx_usecs=setting.get(RX_USECS),
            freq_mhz=setting.get(FREQ_MHZ, 0.0),
            power_w=power_w,
            p50_us=p50_us,
            p99_us=p99_us,
            utilization=utilization,
        )


def changed(policy: Policy, how: str, key: str, value: float) -> Policy:
    """The policy with one value of the profile changed."""
    return Policy(f"{policy.name}, {how}", policy.slo_us, {**policy.values, key: value})


def best(rows: Sequence[Row]) -> Row | None:
    """The row of least power that meets the SLO."""
    return min((row for row in rows if row.meets), key=lambda row: row.power_w, default=None)


def setting_of(row: Row) -> dict[str, float]:
    """The static setting of a row."""
    return {RX_USECS: row.rx_usecs or 0.0, FREQ_MHZ: row.freq_mhz}


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--app", choices=LOADS, action="append", help="only this service")
    parser.add_argument("--load", type=float, action="append", metavar="QPS", help="only this load")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, help="write rows.jsonl and env.json into a folder here")
    args = parser.parse_args()
    rows = []
    for app in args.app or LOADS:
        for qps in args.load or LOADS[app]:
            bench = Bench(app, qps, args.threads)
            for row in (bench.floor(), *(row for slo_us in SLOS_US[app] for row in bench.rows(slo_us))):
                rows.append(row)
                print(line(row), flush=True)
    if args.out:
        folder = environment.results_folder(args.out)
        environment.write(folder, "bench.policies.run", sys.argv[1:])
        (folder / "rows.jsonl").write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows), encoding="utf-8")


def line(row: Row) -> str:
    """One row for people."""
    slo = f"p99<{row.slo_us:g}us" if row.slo_us else "no SLO"
    delay = "adaptive" if row.rx_usecs is None else f"{row.rx_usecs:g} us"
    clock = f"{row.freq_mhz:g} MHz" if row.freq_mhz else ""
    verdict = "ok" if row.meets or not row.slo_us else "MISSED"
    return (
        f"{row.app:9} {row.qps / 1e3:4.0f}K {slo:10} {row.policy:38} {delay:>8} {clock:>8} "
        f"{row.power_w:6.1f} W {row.p99_us:6.0f} us {verdict}"
    )


if __name__ == "__main__":
    main()
