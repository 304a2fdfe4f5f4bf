"""Does `kill -9` ever leave a machine changed? A live search's agent is killed at random times, again and again.

Runs searches of NAPI deferral on the rig of `make live` (root, memcached, ethtool, iproute2): memcached under load, and
an agent that writes the attributes of a veth device. Before each search the device gets values of its own that no
search would choose. At a random time the agent is killed (SIGKILL), and what the kernel has then is noted. Then
`bayop-agent restore` undoes it, as systemd does after the end of the service, or in every other case the next start of
the agent; and every attribute of the device is held against what was found. Times and values follow from the seed.

Example:
  cargo build --release --package bayop-agent
  python -m bench.kills.run target/release/bayop-agent --kills 300 --out bench/kills/results
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path
from random import Random
from typing import Final

from bench import environment

from bayop.errors import BayopError
from bayop.experiments.rig.namespaces import Rig
from bayop.live.file import LiveFile
from bayop.live.search import space_of
from bayop.live.target import AgentTarget
from bayop.load.steady import SteadyLoad
from bayop.search import tune

QPS: Final = 3000.0
WINDOW_S: Final = 0.25
SETTLE_S: Final = 0.02
LONGEST_S: Final = 3.0
"""The latest time of a kill, after the begin of its search; the first window, of the default, takes a fifth of it."""


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill, and what came of it.

    Attributes:
        after_s: How long the search had run.
        held: How many attributes of the device were not as found when the agent was dead.
        undone_by: What restored: `restore`, or the agent's next `start`.
        left: The attributes that were not as found afterwards.
    """

    after_s: float
    held: int
    undone_by: str
    left: tuple[str, ...]


def main() -> None:
    """Runs the benchmark; its exit code is 1 when anything was left changed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agent", type=Path, help="the release build")
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="write kills.csv, summary.json and env.json into a folder here")
    args = parser.parse_args()
    folder = environment.results_folder(args.out) if args.out else None
    if folder:
        environment.write(folder, "bench.kills.run", sys.argv[1:])
    done = []
    for kill in kills(args.agent.resolve(), args.kills, args.seed):
        done.append(kill)
        print(f"{len(done)}: {words(kill)}", file=sys.stderr, flush=True)
    summary = summarized(done)
    print(json.dumps(summary, indent=2))
    if folder:
        (folder / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
        with (folder / "kills.csv").open("w", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(field.name for field in fields(Kill))
            rows.writerows([f"{k.after_s:.3f}", k.held, k.undone_by, " ".join(k.left)] for k in done)
    sys.exit(any(kill.left for kill in done))


def kills(agent: Path, number: int, seed: int) -> Iterator[Kill]:
    """One kill after the other, on one rig and under one load."""
    random = Random(seed)
    with Rig(agent, qps=QPS, window_s=WINDOW_S, patience_s=0.0) as rig, ThreadPoolExecutor(1) as thread:
        live = LiveFile.read(rig.file)
        assert live.load is not None, "the rig's file has a load"
        with SteadyLoad(live.load.plan, through=live.load.through) as load:
            for index in range(number):
                rig.defer(gro_flush_timeout_us=random.randint(1, 400), defer_hard_irqs=random.randint(5, 100))
                found, after_s = rig.attributes(), random.uniform(0.0, LONGEST_S)
                search = thread.submit(run_search, rig, live, load, seed=index)
                time.sleep(after_s)
                kill(rig.agent_pid)
                held = changes(found, rig.attributes())
                assert isinstance(search.exception(timeout=60.0), BayopError), "the search goes on without its agent"
                undone_by = ("restore", "start")[index % 2]
                if undone_by == "restore":
                    rig.restore()
                    left = changes(found, rig.attributes())
                    rig.start_agent()
                else:
                    rig.start_agent()
                    left = changes(found, rig.attributes())
                yield Kill(after_s, len(held), undone_by, left)


def run_search(rig: Rig, live: LiveFile, load: SteadyLoad, *, seed: int) -> None:
    """Searches until the agent dies; random search goes on for longer than that."""
    space = space_of(live, rig.client)
    with AgentTarget(rig.client, space, load, holder="bench", qps=QPS, window_s=WINDOW_S, settle_s=SETTLE_S) as target:
        tune(target, "p90<1s", optimizer="random", max_trials=1000, seed=seed)


def kill(pid: int) -> None:
    """Kills a child and waits until it writes no more; its files and locks are let go by then."""
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


def changes(found: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """The attributes that are not as found, those that came or went included."""
    return tuple(sorted(path for path in found.keys() | now.keys() if found.get(path) != now.get(path)))


def words(kill: Kill) -> str:
    """One kill on a line."""
    left = f"LEFT {' '.join(kill.left)}" if kill.left else "nothing left"
    return f"after {kill.after_s:.2f} s, {kill.held} attributes held, then {kill.undone_by}: {left}"


def summarized(kills: Sequence[Kill]) -> Mapping[str, int]:
    """The counts."""
    return {
        "kills": len(kills),
        "while_held": sum(kill.held > 0 for kill in kills),
        "left_changed": sum(bool(kill.left) for kill in kills),
    }


if __name__ == "__main__":
    main()
