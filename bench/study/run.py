"""How fast, and in how much memory, a large study is opened, checked and asked for its Pareto front.

Makes a study of a seeded space-filling design in Parquet, and opens it in processes of their own: whole, then only the
columns of a front, whose front it finds. Prints a JSON line for each; on a busy machine (`load_average`) its CPU
seconds say more than the clock.

Example:
  python -m bench.study.run --trials 10000000 --out bench/study/results
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
from bench import environment

from bayop import __version__
from bayop.analysis.pareto import front
from bayop.analysis.trade_off import TradeOff
from bayop.study import open_study, trusted, write_study

QUANTILES = {"p50_us": 0.55, "p90_us": 0.75, "p95_us": 0.85, "p99_us": 1.0}
FRONT_COLUMNS = ("study", "trial", "suspect", "cut_short", "power_w", "p99_us")


def synthetic(trials: int, seed: int) -> pl.DataFrame:
    """A design of ITR-delay, frequency and power cap in the shape of the real thing, with what a sweep records."""
    rng = np.random.default_rng(seed)
    delay, freq = rng.uniform(2.0, 400.0, trials), rng.uniform(1200.0, 2900.0, trials)
    busy = 0.9 * 1200.0 / freq * (1.0 - 0.3 * delay / (delay + 50.0))
    p99 = (80.0 + delay + 60.0 / (1.0 - busy)) * rng.lognormal(0.0, 0.02, trials)
    power = (40.0 + busy * (freq / 1000.0) ** 3 * 6.0) * rng.lognormal(0.0, 0.003, trials)
    words = {
        "study": "design", "target": "twin", "machine": "linux-memcached", "machine_fingerprint": "0123456789ab",
        "os": "linux", "app": "memcached", "bayop_version": __version__, "vantage": "model",
    }  # fmt: skip
    return pl.DataFrame(
        {
            "trial": np.arange(1, trials + 1),
            "repeat": np.ones(trials, dtype=np.int64),
            "seed": rng.integers(0, 2**53, trials),
            "qps_offered": np.full(trials, 400_000.0),
            "asked.nic.rx_usecs": delay,
            "asked.cpu.freq_mhz": freq,
            "effective.nic.rx_usecs": np.round(delay / 2.0) * 2.0,
            "effective.cpu.freq_mhz": np.round(freq, -2),
            **{name: share * p99 for name, share in QUANTILES.items()},
            "power_w": power,
            "energy_j": power,
            "duration_s": np.ones(trials),
            "qps": np.full(trials, 400_000.0),
            "utilization": busy,
            "interrupts_per_s": 16e6 / delay,
            "relative_sd.power_w": np.full(trials, 0.002),
            "relative_sd.p99_us": np.full(trials, 0.02),
        }
    ).with_columns(pl.lit(word).alias(name) for name, word in words.items())


def measure(what: str, path: Path) -> dict[str, object]:
    """Does one thing with the study in this process, and says what it took."""
    start_s, began_cpu_s = time.perf_counter(), time.process_time()
    frame = trusted(open_study(path, columns=None if what == "open whole" else FRONT_COLUMNS))
    open_s = time.perf_counter()
    on_front = front(frame, TradeOff("p99_us", "power_w")).height
    end_s = time.perf_counter()
    return {
        "what": what,
        "trials": frame.height,
        "columns": frame.width,
        "open_and_check_s": round(open_s - start_s, 2),
        "front_s": round(end_s - open_s, 2),
        "on_front": on_front,
        "cpu_s": round(time.process_time() - began_cpu_s, 2),
        "load_average": round(os.getloadavg()[0], 1),
        "peak_resident_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10),
    }


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("build/bench-study"), help="where the study goes")
    parser.add_argument("--out", type=Path, help="write rows.jsonl and env.json here, in a folder of this day's")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    args = parser.parse_args()
    path = args.folder / f"{args.trials}-{args.seed}.parquet"
    if args.only:
        print(json.dumps(measure(args.only, path)))
        return
    if not path.exists():
        args.folder.mkdir(parents=True, exist_ok=True)
        write_study(synthetic(args.trials, args.seed), path)
    rows = []
    for what in ("open whole", "open the columns of a front"):
        again = [sys.executable, "-m", "bench.study.run", *sys.argv[1:], "--only", what]
        output = subprocess.run(again, capture_output=True, text=True, check=True).stdout
        rows.append(json.loads(output) | {"file_mib": round(path.stat().st_size / 2**20)})
        print(json.dumps(rows[-1]), flush=True)
    if args.out:
        folder = environment.results_folder(args.out)
        environment.write(folder, "bench.study.run", sys.argv[1:])
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
