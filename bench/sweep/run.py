"""How long a sweep of the memcached twin takes: 297 settings at 600K requests/s, windows of a second.

33 interrupt delays by 9 frequencies, by the command line as people use it: its start, the simulations, the journal and
the study file are in the time. The table must not depend on the number of processes. Writes raw.json, summary.md and
env.json into results/<date>-<kind of machine>/.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from bench import environment
from bench.command import flags_of

_MODULE: Final = "bench.sweep.run"
DESIGN: Final = ("--range", "nic.rx_usecs=2:962:30", "--range", "cpu.freq_mhz=1300:2900:200", "--no-default")
SETTINGS: Final = 297
BAR_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Run:
    """One sweep.

    Attributes:
        processes: How many ran trials.
        wall_s: From the command's start to its end.
        cpu_s: Processor time of all its processes.
        load_average: What this machine was busy with just before, over a minute.
    """

    processes: int
    wall_s: float
    cpu_s: float
    load_average: float


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and writes its results; 1 when the fastest run is over the bar or tables differ."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    args = parser().parse_args(arguments)
    with TemporaryDirectory() as folder:
        runs = []
        tables = set()
        for number in range(args.rounds):
            for processes in args.processes:
                out = Path(folder) / f"{number}-{processes}.csv"
                runs.append(sweep(out, processes))
                tables.add(out.read_bytes())
                sys.stderr.write(f"{runs[-1]}\n")
    folder_out = args.out or environment.results_folder(Path(__file__).parent / "results")
    environment.write(folder_out, _MODULE, arguments)
    (folder_out / "raw.json").write_text(json.dumps([asdict(run) for run in runs], indent=2) + "\n", encoding="utf-8")
    text = summary(runs, same=len(tables) == 1)
    (folder_out / "summary.md").write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    return 0 if len(tables) == 1 and min(run.wall_s for run in runs) < BAR_S else 1


def parser() -> argparse.ArgumentParser:
    """The flags."""
    result = flags_of(_MODULE, __doc__)
    result.add_argument("--processes", type=int, nargs="+", default=[1, os.cpu_count() or 1], metavar="N")
    result.add_argument("--rounds", type=int, default=3, metavar="N", help="sweeps of each kind (default: 3)")
    return result


def sweep(out: Path, processes: int) -> Run:
    """One sweep by the command line."""
    words = ["-m", "bayop", "sweep", "--load", "600kqps", "--window", "1s", *DESIGN, "--json"]
    load_average = os.getloadavg()[0]
    cpu_s, start_s = _children_s(), time.perf_counter()
    run = subprocess.run(
        [sys.executable, *words, "--processes", str(processes), "--out", str(out)],
        capture_output=True,
        text=True,
        check=True,
    )
    wall_s = time.perf_counter() - start_s
    trials = sum('"trial"' in line and json.loads(line)["event"] == "trial" for line in run.stdout.splitlines())
    assert trials == SETTINGS, trials
    return Run(processes, round(wall_s, 2), round(_children_s() - cpu_s, 2), round(load_average, 2))


def summary(runs: Sequence[Run], *, same: bool) -> str:
    """The medians, and whether the tables were the same."""
    lines = [
        "# A sweep of the twin",
        "",
        f"{SETTINGS} settings of linux-memcached at 600K requests/s, one window of 1 s each.",
        "",
        "| processes | time, median | time, least and greatest | processor time, median | load average before |",
        "|---:|---:|---:|---:|---:|",
    ]
    for processes in sorted({run.processes for run in runs}):
        of = [run for run in runs if run.processes == processes]
        walls = [run.wall_s for run in of]
        loads = f"{min(run.load_average for run in of):.1f} to {max(run.load_average for run in of):.1f}"
        lines.append(
            f"| {processes} | {median(walls):.1f} s | {min(walls):.1f} to {max(walls):.1f} s "
            f"| {median(run.cpu_s for run in of):.1f} s | {loads} |"
        )
    verdict = "are the same, byte for byte" if same else "DIFFER"
    return "\n".join([*lines, "", f"The tables of all {len(runs)} runs {verdict}.", ""])


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
