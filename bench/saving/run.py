"""Does `bayop tune` sell noise? It searches a live memcached again and again, with nothing to gain and with something.

Runs the command as its users do, on the rig of `make live` (root, memcached, ethtool, iproute2). With nothing to gain,
the only knob is one that has no effect: how many empty polls a device defers its interrupt while its timeout is 0. With
something to gain, the knobs are those of `make live`, and what was found is afterwards measured beside the default
again, in twice as many pairs, by windows that the command has not seen: does its interval cover that?

Example:
  cargo build --release --package bayop-agent
  python -m bench.saving.run target/release/bayop-agent --out bench/saving/results
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench import environment

from bayop.confirm import DEFAULT, FOUND, objective_pairs, take_turns
from bayop.experiments.rig.namespaces import Rig
from bayop.live.file import LiveFile
from bayop.live.search import open_target
from bayop.objective import Objective
from bayop.saving import Looks
from bayop.slo import Slo
from bayop.space import GRO_FLUSH_TIMEOUT_US

SLO: Final = Slo.parse("p90<500us")
NOTHING: Final = "nothing to gain"
SOMETHING: Final = "make live"
Json = dict[str, Any]


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agent", type=Path, help="the release build")
    parser.add_argument("--runs", type=int, default=10, help="how often each of the two is searched")
    parser.add_argument("--pairs", type=int, default=24, help="the most pairs of one confirmation")
    parser.add_argument("--load", type=float, default=8000.0, metavar="QPS")
    parser.add_argument("--window-s", type=float, default=0.5)
    parser.add_argument(
        "--objective", default="power", help="what is minimised, such as net_rx_per_s on a busy machine"
    )
    parser.add_argument("--out", type=Path, help="write runs.jsonl, summary.md and env.json into a folder here")
    args = parser.parse_args()
    folder = environment.results_folder(args.out) if args.out else None
    if folder:
        environment.write(folder, "bench.saving.run", sys.argv[1:])
    runs = []
    for run in searches(args):
        runs.append(run)
        print(f"{run['case']}: {words(run)}", flush=True)
        if folder:
            write(folder, runs)
    sys.stdout.write(f"\n{summary(runs)}")


def write(folder: Path, runs: Sequence[Json]) -> None:
    """Everything until now: an hour of runs is not lost with the last of them."""
    (folder / "runs.jsonl").write_text("".join(f"{json.dumps(run)}\n" for run in runs))
    (folder / "summary.md").write_text(summary(runs))


def searches(args: argparse.Namespace) -> Iterator[Json]:
    """Both cases in turns, each on a rig of its own, so that a busy hour of the machine is shared by both."""
    for seed in range(args.runs):
        for case in (NOTHING, SOMETHING):
            with Rig(args.agent.resolve(), qps=args.load, window_s=args.window_s) as rig:
                file = rig.file if case == SOMETHING else without_gain(rig.file)
                run: Json = {"case": case, "seed": seed} | tune(file, args.objective, seed=seed, pairs=args.pairs)
                if case == SOMETHING and (saving := run["result"]["saving"]) is not None:
                    run["again"] = again(file, args.objective, saving["setting"], seed=seed, pairs=2 * args.pairs)
                yield run


def without_gain(file: Path) -> Path:
    """The rig's file without the timeout, which stays 0."""
    lines = file.read_text(encoding="utf-8").splitlines()
    other = file.with_name("nothing.toml")
    other.write_text(
        "\n".join(line for line in lines if not line.startswith(f'"{GRO_FLUSH_TIMEOUT_US}"')), encoding="utf-8"
    )
    return other


def tune(file: Path, objective: str, *, seed: int, pairs: int) -> Json:
    """One `bayop tune`: its result and the windows of its confirmation."""
    words = [
        sys.executable, "-m", "bayop", "tune", "--target", str(file), "--slo", str(SLO), "--seed", str(seed),
        "--confirm", str(pairs), "--objective", objective, "--json",
    ]  # fmt: skip
    started_s = time.monotonic()
    run = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode not in (0, 1):
        raise SystemExit(run.returncode)
    events = [json.loads(line) for line in run.stdout.splitlines()]
    return {
        "exit_code": run.returncode,
        "duration_s": round(time.monotonic() - started_s, 1),
        "trials": [e["measured"] | {"setting": e["setting"]} for e in events if e["event"] == "trial"],
        "pairs": [{k: e[k] for k in (DEFAULT, FOUND)} for e in events if e["event"] == "pair"],
        "result": events[-1],
    }


def again(file: Path, objective: str, setting: Mapping[str, float], *, seed: int, pairs: int) -> Json:
    """What a setting saves, from windows of their own."""
    with open_target(LiveFile.read(file), SLO, holder="bench.saving") as target:
        rounds = list(islice(take_turns(target, {DEFAULT: None, FOUND: setting}, seed=1000 + seed), pairs))
    windows = objective_pairs(rounds, Objective.parse(objective, SLO), DEFAULT, FOUND)
    saving = Looks(pairs).saving(windows)
    return {"value": saving.value, "low": saving.low, "high": saving.high, "windows": windows}


def is_right(run: Json) -> bool:
    """With nothing to gain: nothing was kept. Else: the interval covers what was measured again."""
    if run["case"] == NOTHING:
        return not run["result"]["held"] and run["result"]["setting"] is None
    return "again" in run and covers(run)


def interval(run: Json) -> tuple[float, float, float, float]:
    """The saving that the command has printed, the ends of its interval, and what the default takes."""
    saving = run["result"]["saving"]
    names = ("power_w", "low_w", "high_w", "default_w") if "power_w" in saving else ("value", "low", "high", "default")
    value, low, high, default = (saving[name] for name in names)
    return value, -math.inf if low is None else low, math.inf if high is None else high, default


def covers(run: Json) -> bool:
    """Whether the interval of the command covers what was measured again."""
    _, low, high, _ = interval(run)
    return bool(low <= run["again"]["value"] <= high)


def words(run: Json) -> str:
    """One run on a line."""
    saving = run["result"]["saving"]
    if saving is None:
        return f"{len(run['trials'])} trials, nothing to compare"
    value, low, high, _ = interval(run)
    text = f"{len(run['trials'])} trials, saves {value:.6g} ({low:.6g} to {high:.6g}), {saving['share']:.1%}"
    text += f" in {saving['pairs']} pairs: {saving['verdict']}"
    return f"{text}; again {run['again']['value']:.6g}" if "again" in run else text


def summary(runs: Sequence[Json]) -> str:
    """The table of both cases."""
    lines = [
        "| | right | significant | saving, median | half of its interval, median | pairs, median | utilization |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for case, what in ((NOTHING, "nothing kept"), (SOMETHING, "interval covers what was measured again")):
        mine = [run for run in runs if run["case"] == case]
        comparisons = [run for run in mine if run["result"]["saving"] is not None]
        shares = [run["result"]["saving"]["share"] for run in comparisons]
        halves = [(high - low) / 2 / default for run in comparisons for _, low, high, default in [interval(run)]]
        busy = [p[DEFAULT]["utilization"] for run in mine for p in run["pairs"] if "utilization" in p[DEFAULT]]
        cells = [
            f"{case}: {what}",
            f"{sum(map(is_right, mine))} of {len(mine)}",
            f"{sum(run['result']['saving']['significant'] for run in comparisons)}",
            f"{median(shares):.2%}" if shares else "-",
            f"{median(halves):.2%}" if halves else "-",
            f"{median(run['result']['saving']['pairs'] for run in comparisons):.0f}" if comparisons else "-",
            f"{median(busy):.2f}" if busy else "-",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
