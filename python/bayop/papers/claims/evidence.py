"""What claims are examined on: the published measurements, the twin asked the same questions, our own library OS.

Everything is read or simulated when a claim first asks for it, and once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bayop.errors import InputError
from bayop.papers import YAWN_SERVER
from bayop.space import FREQ_MHZ, RX_USECS

if TYPE_CHECKING:
    import polars as pl

    from bayop.experiments.day.record import DayRecord
    from bayop.experiments.generality.record import Outcome
    from bayop.experiments.idle.record import CoreUse

APPS: Final = ("memcached", "silo")
"""The open-loop services that were measured and that the twin has profiles of."""

_CELL_REQUESTS: Final = 100_000
_CELL_ROUND_TRIPS: Final = 4_000
_MEASURED: Final = (
    "power_w", "p50_us", "p90_us", "p99_us", "qps", "instructions", "energy_window_s", "duration_s", "energy_j",
    "roundtrip_us", "goodput_mibit_s",
)  # fmt: skip


class Evidence:
    """The measurements in a folder, and the twin.

    Args:
        folder: Holds the published files: study_*.csv, systor_*.csv, yawn_*.csv.
        seed: Of every simulation.
        threads: Windows that are simulated at once; no number depends on it.
        libos: What was counted on the library OS (`library_os.read_windows`); None: nothing.
    """

    def __init__(self, folder: Path, *, seed: int, threads: int, libos: Path | None = None) -> None:
        self.libos = libos
        self._folder = folder
        self._seed = seed
        self._threads = threads
        self._days: dict[tuple[str, str, str], DayRecord] = {}

    def path(self, name: str) -> Path:
        """A file of the folder.

        Raises:
            InputError: it is not there.
        """
        path = self._folder / name
        if not path.is_file():
            raise InputError(
                "the folder of measurements must hold the published files",
                wrong=f"there is no {name}",
                value=f"no {name}",
                place=str(self._folder),
                hint="name the folder that has them",
            )
        return path

    def table(self, name: str) -> pl.DataFrame:
        """A published table that is no study, as it is: systor_cci.csv, yawn_by_rate.csv."""
        import polars as pl

        return pl.read_csv(self.path(name), infer_schema_length=None)

    @cached_property
    def netpipe(self) -> pl.DataFrame:
        """Cells of the closed loop, as `measured`; by message size in place of load."""
        return self._cells("study_netpipe.csv", "message_bytes")

    @cached_property
    def measured(self) -> Mapping[str, pl.DataFrame]:
        """Cells of `APPS`: medians over the repeats of a setting.

        Columns: os, qps_offered, rx_usecs and freq_mhz (null: left to the operating system), cap_w (null: none), and
        what was measured.
        """
        return {app: self._cells(f"study_{app}.csv", "qps_offered") for app in APPS}

    @cached_property
    def simulated(self) -> Mapping[str, pl.DataFrame]:
        """The same cells without a cap, as the twin measures them."""
        return {app: self._simulate(app, "qps_offered", _CELL_REQUESTS) for app in APPS}

    @cached_property
    def simulated_netpipe(self) -> pl.DataFrame:
        """The cells of `netpipe`, as the twin measures them."""
        return self._simulate("netpipe", "message_bytes", _CELL_ROUND_TRIPS)

    @cached_property
    def simulated_yawn(self) -> pl.DataFrame:
        """The rates of yawn_by_rate.csv under menu and under Yawn with its balancer, on the twin of that server."""
        import polars as pl

        from bayop.twin.profile_library import load_profile, with_values
        from bayop.twin.windows import simulate, simulation_run

        server = load_profile(f"linux-memcached@{YAWN_SERVER}")
        rates = sorted(set(self.table("yawn_by_rate.csv")["qps_offered"].to_list()))
        rows = []
        for governor, words in {"menu": {}, "yawn": {"os.idle_governor": "yawn", "os.wake_balancer": "yawn"}}.items():
            profile = with_values(server, words)
            runs = [
                simulation_run(profile, {}, load=float(qps), requests=_CELL_REQUESTS, seed=self._seed) for qps in rates
            ]
            windows = simulate(profile, runs, threads=self._threads)
            rows += [
                {"governor": governor, "qps_offered": qps, "p99_us": window["p99_us"], "power_w": window["power_w"]}
                for qps, window in zip(rates, windows, strict=True)
            ]
        return pl.DataFrame(rows)

    @cached_property
    def residency_under_yawn(self) -> Sequence[Sequence[CoreUse]]:
        """How each core of that server spends its time under Yawn: a row a rate, without the balancer and with it."""
        from bayop.experiments.idle.cores import core_use
        from bayop.twin.profile_library import load_profile

        server = load_profile(f"linux-memcached@{YAWN_SERVER}")
        rates = [float(qps) for qps in sorted(set(self.table("yawn_by_rate.csv")["qps_offered"].to_list()))]
        uses = core_use(server, "yawn", rates, requests=_CELL_REQUESTS, seed=self._seed, threads=self._threads)
        return list(uses)

    @cached_property
    def tailbench(self) -> Sequence[Outcome]:
        """Searches of the generality experiment on the twin: Tailbench's services on every machine."""
        from bayop.experiments.generality.play import cases, play
        from bayop.experiments.generality.record import TAILBENCH

        return [o for some in play(cases(TAILBENCH), (self._seed,), threads=self._threads) for o in some]

    def interrupt_spacing(self, name: str) -> Mapping[str, float]:
        """The time between the interrupts of a published log: quantiles in us, and `variation`, sd over mean."""
        from bayop.interrupts.log import open_log
        from bayop.interrupts.numbers import spacing
        from bayop.interrupts.query import summarise

        summary = summarise(open_log(self.path(name)))
        return {name: value for name, value in spacing(summary.spacing, summary.layout).items() if value is not None}

    def day(self, app: str, slo: str, objective: str = "power") -> DayRecord:
        """The 24-hour experiment on the twin, as `bayop demo` plays it."""
        key = (app, slo, objective)
        if key not in self._days:
            self._days[key] = self._play(app, slo, objective)
        return self._days[key]

    def _cells(self, name: str, load: str) -> pl.DataFrame:
        from bayop.analysis.cells import cells
        from bayop.study import open_study, trusted

        frame = trusted(open_study(self.path(name)))
        table = cells(frame, [c for c in _MEASURED if c in frame.columns], centre="median")
        knobs = {c: c.rpartition(".")[2] for c in table.columns if c.startswith("asked.")}
        return table.rename(knobs).sort("os", load, *knobs.values())

    def _simulate(self, app: str, load: str, requests: int) -> pl.DataFrame:
        import polars as pl

        from bayop.twin.profile_library import load_profile
        from bayop.twin.validate import read_cells, simulate_cells

        cells = read_cells(self.path(f"study_{app}.csv"))
        rows = []
        for os in sorted({cell.os for cell in cells}):
            some = [cell for cell in cells if cell.os == os]
            profile = load_profile(f"{os}-{app}")
            results = simulate_cells(profile, some, requests=requests, seed=self._seed, threads=self._threads)
            rows += [
                {
                    "os": os,
                    load: cell.load,
                    "rx_usecs": cell.setting.get(RX_USECS),
                    "freq_mhz": cell.setting.get(FREQ_MHZ),
                }
                | {"cap_w": None}
                | {name: window[name] for name in _MEASURED if name in window}
                for cell, window in zip(some, results, strict=True)
            ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def _play(self, app: str, slo: str, objective: str) -> DayRecord:
        from bayop.control.triggers import parse_trigger
        from bayop.experiments.day.play import PEAK_QPS, SYSTEMS, WINDOW_REQUESTS, DayPlan, play_day
        from bayop.experiments.day.sweep import Effort
        from bayop.load.curve import LoadCurve
        from bayop.objective import Objective
        from bayop.slo import Slo
        from bayop.twin.oracle import TwinOracle

        plan = DayPlan(
            app=app,
            objective=Objective.parse(objective, Slo.parse(slo)),
            curve=LoadCurve.load("twitter").first(24).scaled_to(PEAK_QPS[app]),
            trigger=parse_trigger("clock,breach"),
            trigger_name="clock,breach",
            seed=self._seed,
            requests=WINDOW_REQUESTS,
            effort=Effort.usual(self._threads),
        )
        return play_day(plan, {system: TwinOracle(f"{system}-{app}") for system in SYSTEMS})
