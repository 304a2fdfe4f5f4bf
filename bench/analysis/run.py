"""How long it takes to open a study of ten million trials and to draw its Pareto front.

Two studies are written to build/: one of 297 settings with many repeats, as a long campaign has them, and one in which
every trial is a setting of its own. Each is then opened, analysed and drawn in a fresh process, the start of Python and
its imports included. Writes summary.md and env.json into results/<date>-<kind of machine>/.
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
from pathlib import Path
from statistics import median

import numpy as np
from bench import environment

LIMIT_S = 5.0
_STUDIES = {"repeats": "297 settings", "distinct": "every trial another setting"}
COLUMNS = (
    "study", "trial", "target", "machine", "os", "app", "qps_offered", "asked.nic.rx_usecs", "asked.cpu.freq_mhz",
    "power_w", "p99_us", "relative_sd.power_w", "relative_sd.p99_us",
)  # fmt: skip
EXAMPLES = """\
examples:
  python -m bench.analysis.run
  python -m bench.analysis.run --rows 1000000 --runs 1 --out build/look
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Writes the studies, measures, and writes the results; 1 when a median is over the limit."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog="python -m bench.analysis.run",
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", type=int, default=10_000_000, metavar="N", help="trials (default: 10000000)")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="measurements of each (default: 5)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where the results go")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    if args.one is not None:
        draw(args.one)
        return 0
    folder = Path("build/bench-analysis")
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, what in _STUDIES.items():
        path = folder / f"{name}-{args.rows}.parquet"
        if not path.exists():
            write(path, name, args.rows)
        timings = [measure(path) for _ in range(args.runs)]
        steps = {step: median(t[step] for t in timings) for step in timings[0]}
        rows.append((what, args.rows, steps))
        sys.stderr.write(f"{what}: {steps}\n")
    out = args.out or environment.results_folder(Path(__file__).parent / "results")
    environment.write(out, "bench.analysis.run", arguments)
    (out / "summary.md").write_text(summary(rows, args.runs), encoding="utf-8")
    sys.stdout.write(summary(rows, args.runs))
    return int(any(steps["all"] > LIMIT_S for _, _, steps in rows))


def write(path: Path, name: str, size: int) -> None:
    """A synthetic study: log-normal latencies and powers around a trade-off, and one default in a thousand trials."""
    import polars as pl

    from bayop.study import write_study

    rng = np.random.default_rng(0)
    trial = np.arange(size)
    cell = trial % 297
    delay = 2.0 + 12 * (cell // 9) if name == "repeats" else 1e-4 * rng.permutation(size)
    freq = 1300.0 + 200 * (cell % 9)
    default = trial % 1000 == 0 if name == "repeats" else trial == 0
    frame = pl.DataFrame(
        {
            "study": pl.repeat("bench", size, eager=True),
            "trial": trial,
            "target": pl.repeat("twin", size, eager=True),
            "machine": pl.repeat("linux-memcached", size, eager=True),
            "os": pl.repeat("linux", size, eager=True),
            "app": pl.repeat("memcached", size, eager=True),
            "qps_offered": pl.repeat(600_000.0, size, eager=True),
            "asked.nic.rx_usecs": pl.Series(delay).set(pl.Series(default), None),
            "asked.cpu.freq_mhz": pl.Series(freq).set(pl.Series(default), None),
            "power_w": 60.0 * (freq / 1300) * np.exp(0.02 * rng.standard_normal(size)),
            "p99_us": (200.0 + delay) * (1300 / freq) * np.exp(0.05 * rng.standard_normal(size)),
            "relative_sd.power_w": np.full(size, 0.003),
            "relative_sd.p99_us": np.full(size, 0.02),
        }
    )
    write_study(frame, path)


def measure(path: Path) -> dict[str, float]:
    """Seconds of each step, in a process of its own."""
    command = [sys.executable, "-m", "bench.analysis.run", "--one", str(path)]
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    steps: dict[str, float] = json.loads(run.stdout)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"start": took - sum(steps.values()), **steps, "all": took, "processor": processor}


def draw(path: Path) -> None:
    """Opens a study and draws its Pareto front; prints how long each step took."""
    from bayop.analysis.cells import cells
    from bayop.analysis.pareto import likely_front
    from bayop.analysis.trade_off import TradeOff
    from bayop.report.study.pareto import draw_pareto
    from bayop.report.svg import Drawing, save
    from bayop.study import open_study, trusted

    power = TradeOff("p99_us", "power_w")
    marks = [time.perf_counter()]
    study = open_study(path, columns=COLUMNS)
    marks.append(time.perf_counter())
    means = cells(trusted(study), power.quantities)
    likely = likely_front(means, power, seed=0)
    marks.append(time.perf_counter())
    figure = draw_pareto(means, power, likely=likely)
    save(Drawing(path.stem, "Pareto front", "A benchmark's front.", "", figure), path.parent)
    marks.append(time.perf_counter())
    steps = dict(zip(("open", "front", "draw"), np.diff(marks).tolist(), strict=True))
    sys.stdout.write(json.dumps(steps) + "\n")


def summary(rows: Sequence[tuple[str, int, dict[str, float]]], runs: int) -> str:
    """The results as a table."""
    steps = list(rows[0][2])
    about = (
        f"Seconds, medians of {runs} runs, each in a fresh process; `start` is Python and its imports, `processor` the "
        f"time of all cores. Load of the machine at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.\n"
    )
    lines = [
        f"# Opening a study and drawing its Pareto front (at most {LIMIT_S:g} s)\n",
        about,
        f"| study | trials | {' | '.join(steps)} |",
        f"|---|---:|{'---:|' * len(steps)}",
    ]
    for what, size, timing in rows:
        lines.append(f"| {what} | {size:,} | {' | '.join(f'{timing[step]:.2f}' for step in steps)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
