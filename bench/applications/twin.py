"""What the twin foretells of applications that run here, at loads that its profile was not fitted to.

    python -m bench.applications.twin
    python -m bench.applications.twin --windows bench/applications/results/twin/2026-11-28-2cpu-x86_64/windows.csv

Each application is served behind a pair of virtual devices, as `bayop live` does, and loaded at shares of what a closed
loop shows that it answers at most. Windows of all loads take turns; a window in which a hypervisor took the processors
away is measured again. `FITTED` of `rig.toml` is fitted to the first and the third share (`bayop.twin.calibrate`), and
the others are simulated. Needs root and a machine of two cores where nothing else runs; `--windows FILE` fits what an
earlier run has measured.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np
from bench import environment
from bench.command import count
from bench.results import write_results
from bench.rows import read_rows, write_rows
from rich.console import Console

from bayop import _core
from bayop.applications.definition import Application, find_application
from bayop.cli import report_error
from bayop.errors import BayopError
from bayop.experiments.rig.veth import Served, VethPair
from bayop.live.patience import MOST_STOLEN
from bayop.space import FREQ_MHZ, RX_USECS
from bayop.twin.calibrate import Calibration
from bayop.twin.profile_library import load_profile
from bayop.twin.validate import Cell, compare

APPS: Final = ("img-dnn", "nodejs", "tpcc", "xapian")
"""One thread each, whose requests take longer than what the rig adds."""

SHARES: Final = (0.15, 0.3, 0.45, 0.6)
"""Loads, as shares of the peak."""

FITTED_SHARES: Final = (0.15, 0.45)
"""Those that the profile is fitted to; the others lie between them and beyond."""

FITTED: Final = (
    "app.request_us",
    "app.long_request_factor",
    "app.service_log_sd",
    "os.idle_loop_us",
    "os.idle_loop_tau_us",
    "app.network_us",
    "app.network_jitter_us",
)
"""What is fitted of the profile."""

BARS: Final[Mapping[str, float]] = {"p50_us": 0.10, "p99_us": 0.20, "utilization": 0.10}
"""How far off a prediction may be."""

_SETTING: Final = {RX_USECS: 2.0, FREQ_MHZ: 1000.0}
_LEAST_S: Final = 10.0
_LEAST_REQUESTS: Final = 5000
"""Of a window, so that its p99 is not that of a few requests."""

_TRIES: Final = 4
"""How often a window is measured at most; that with the least stolen counts."""

_REQUESTS: Final = 100_000
_SWEEPS: Final = 180


@dataclass(frozen=True, slots=True)
class Window:
    """One application at one load.

    Attributes:
        app: Its name.
        share: The load, as a share of the peak.
        qps: The load.
        utilization: Share of a processor's time that the service took.
        stolen: Share of all processors' time that a hypervisor took.
    """

    app: str
    share: float
    qps: float
    p50_us: float
    p90_us: float
    p99_us: float
    utilization: float
    stolen: float


@dataclass(frozen=True, slots=True)
class Row:
    """One application at one load, measured and foretold.

    Attributes:
        app: Its name.
        share: The load, as a share of the peak.
        qps: The load.
        is_fitted: Whether the profile was fitted to this load.
        quantity: What was measured.
        measured: Median over the windows.
        simulated: What the twin says.
    """

    app: str
    share: float
    qps: float
    is_fitted: bool
    quantity: str
    measured: float
    simulated: float

    @property
    def error(self) -> float:
        """Of the twin, relative."""
        return self.simulated / self.measured - 1.0


def main(argv: Sequence[str] | None = None) -> int:
    """Measures, fits and foretells every application, and writes the results."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    flags = parser()
    args = flags.parse_args(arguments)
    if unknown := sorted(set(args.apps.split(",")) - set(APPS)):
        flags.error(f"--apps must be of {', '.join(APPS)}, not {unknown[0]!r}")
    console = Console(stderr=True, highlight=False)
    out = args.out or environment.results_folder(Path(__file__).with_name("results") / "twin")
    try:
        windows = read_rows(args.windows, Window) if args.windows else _measured(args, out, console)
    except BayopError as error:
        report_error(error)
        return error.exit_code
    rows = foretell(windows)
    tables: dict[str, Sequence[Window] | Sequence[Row]] = {"windows": windows, "raw": rows}
    write_results("bench.applications.twin", arguments, tables, table(rows), out=out, console=console)
    return 0


def _measured(args: argparse.Namespace, out: Path, console: Console) -> list[Window]:
    """The windows of all applications; those of one are in the folder before the next begins."""
    windows: list[Window] = []
    out.mkdir(parents=True, exist_ok=True)
    for app in args.apps.split(","):
        console.print(f"{app}: measuring")
        windows += measure(find_application(app), rounds=args.rounds)
        write_rows(out / "windows.csv", windows)
    return windows


def parser() -> argparse.ArgumentParser:
    """The flags."""
    result = argparse.ArgumentParser(
        prog="python -m bench.applications.twin",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("--apps", default=",".join(APPS), metavar="NAME,...", help="default: all")
    result.add_argument("--rounds", type=count, default=3, metavar="N", help="windows of each load (default: 3)")
    result.add_argument("--windows", type=Path, metavar="FILE", help="fit these, and measure nothing")
    result.add_argument("--out", type=Path, metavar="FOLDER", help="default: results/twin/<date>-<kind of machine>")
    return result


def measure(application: Application, *, rounds: int) -> list[Window]:
    """Measures an application at every share of its peak, in turns.

    Raises:
        UnsupportedError: it can't be served here.
    """
    with VethPair() as pair:
        served = pair.serve(application)
        peak = pair.load(application, "--closed-loop", "-w", "0s", "-t", "5s")
        peak_qps = peak["counts"]["answered"] / peak["duration_s"]
        return [_window(pair, application, served, share, share * peak_qps) for _ in range(rounds) for share in SHARES]


def _window(pair: VethPair, application: Application, served: Served, share: float, qps: float) -> Window:
    """The window in which least was stolen, of those that were needed until one was good."""
    duration_s = max(_LEAST_S, _LEAST_REQUESTS / qps)
    windows: list[Window] = []
    while not windows or (len(windows) < _TRIES and windows[-1].stolen > MOST_STOLEN * 0.01):
        cpu_s, times_s = served.cpu_s(), _processor_times_s()
        result = pair.load(application, "-q", f"{qps:g}", "-w", "0s", "-t", f"{duration_s:g}s")
        cpu_s = served.cpu_s() - cpu_s
        stolen_s, all_s = (now - then for now, then in zip(_processor_times_s(), times_s, strict=True))
        seen = {each["quantile"]: each["value_us"] for each in result["latency"]}
        windows.append(
            Window(
                app=application.name,
                share=share,
                qps=qps,
                p50_us=seen[0.5],
                p90_us=seen[0.9],
                p99_us=seen[0.99],
                utilization=cpu_s * qps / result["counts"]["intended"],
                stolen=stolen_s / all_s,
            )
        )
    return min(windows, key=lambda window: window.stolen)


def _processor_times_s() -> tuple[float, float]:
    """What was stolen of all processors, and all that there was (proc(5), /proc/stat), in hundredths of a second."""
    first = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    times = [float(each) for each in first.split()[1:9]]  # up to `steal`; a guest's time is in `user`
    return times[-1], sum(times)


def foretell(windows: Sequence[Window]) -> list[Row]:
    """Fits the profile to some loads of every application, and foretells all."""
    rows = []
    for app in dict.fromkeys(window.app for window in windows):
        cells = {share: _cell([one for one in windows if (one.app, one.share) == (app, share)]) for share in SHARES}
        fitted = [cells[share] for share in FITTED_SHARES]
        fit = Calibration(_start(fitted), fitted, FITTED, requests=_REQUESTS, seed=1, threads=2).run(sweeps=_SWEEPS)
        compared = compare(fit.profile, list(cells.values()), requests=_REQUESTS, seed=2, threads=2)
        rows += [
            Row(
                app=app,
                share=share,
                qps=cells[share].load,
                is_fitted=share in FITTED_SHARES,
                quantity=quantity,
                measured=cells[share].measured[quantity],
                simulated=one.simulated[quantity],
            )
            for share, one in zip(cells, compared, strict=True)
            for quantity in BARS
        ]
    return rows


def _cell(windows: Sequence[Window]) -> Cell:
    names = ("p50_us", "p90_us", "p99_us", "utilization")
    measured = {name: median(getattr(window, name) for window in windows) for name in names}
    return Cell("linux", windows[0].qps, _SETTING, len(windows), measured)


def _start(fitted: Sequence[Cell]) -> _core.Profile:
    """Where the fit starts: an idle period costs a wake-up, and every request the rest of the processor time.

    Of `qps` requests/s of s seconds each, M/G/1 leaves qps (1 - qps s) idle periods a second.
    """
    low, high = fitted
    a = [[cell.load, cell.load * (1.0 - cell.measured["utilization"])] for cell in (low, high)]
    request_s, wake_s = np.linalg.solve(a, [cell.measured["utilization"] for cell in (low, high)])
    first_us = 1e6 * low.measured["utilization"] / low.load
    request_us = min(max(1e6 * request_s, 0.1 * first_us), first_us)
    spread = (low.measured["p90_us"] - low.measured["p50_us"]) / low.measured["p50_us"]
    return load_profile(str(Path(__file__).with_name("rig.toml"))).with_values(
        {
            "app.request_us": request_us,
            "os.idle_loop_us": min(max(1e6 * wake_s, 1.0), first_us),
            "app.service_log_sd": min(max(spread / 2, 0.05), 1.0),
            "app.network_us": max(low.measured["p50_us"] - first_us, 5.0),
        }
    )


def table(rows: Sequence[Row]) -> str:
    """The results in Markdown: every load, and which of those that were not fitted keep `BARS`."""
    lines = [
        "| application | share of its peak | requests/s | p50 | twin | p99 | twin | utilization | twin |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for app, share in dict.fromkeys((row.app, row.share) for row in rows):
        some = {row.quantity: row for row in rows if (row.app, row.share) == (app, share)}
        first = next(iter(some.values()))
        kept = " (fitted)" if first.is_fitted else ""
        cells = [app, f"{100 * share:.0f} %{kept}", f"{first.qps:,.0f}"]
        for quantity, row in some.items():
            cells += [_amount(quantity, row.measured), f"{_amount(quantity, row.simulated)} ({100 * row.error:+.0f} %)"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", *_verdicts(rows), ""])


def _verdicts(rows: Sequence[Row]) -> list[str]:
    said = []
    for app, share in dict.fromkeys((row.app, row.share) for row in rows if not row.is_fitted):
        errors = {row.quantity: row.error for row in rows if (row.app, row.share) == (app, share)}
        over = ", ".join(name.removesuffix("_us") for name, bar in BARS.items() if abs(errors[name]) > bar)
        said.append(f"- {app} at {100 * share:.0f} %: {f'over the bar: {over}' if over else 'all bars are kept'}")
    return said


def _amount(quantity: str, value: float) -> str:
    return f"{value:,.0f} us" if quantity.endswith("_us") else f"{100 * value:.1f} %"


if __name__ == "__main__":
    sys.exit(main())
