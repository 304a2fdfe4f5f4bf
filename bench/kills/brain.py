"""Does `kill -9` of `bayop run` ever lose what it has seen, or leave a machine changed? Killed again and again.

Each lane is a machine of its own: the real agent on a recorded machine, and `bayop run`, which searches a power cap,
holds it, and searches anew as the load changes every few seconds, a week's hours in as many windows. At a random time
it is killed (SIGKILL) and started again at once, as systemd does. Of each kill is noted

  lost_setting   whether the setting that was in effect was gone a moment later, though its lease went on
  left_setting   whether the machine was not as it was found when the lease was over, before anything new was applied
  lost_windows   how many windows it had told, and the state does not have
  lost_observations  how many of these windows of a setting the state has, but not what was learned of them

Example:
  cargo build --release --package bayop-agent
  python -m bench.kills.brain target/release/bayop-agent --kills 200 --out bench/kills/results/brain
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any, Final

from bench.results import tell_summary
from bench.rows import write_rows
from tests.support.agents import CAP, NIC, AgentProcess, Machine
from tests.support.patience import eventually
from tests.support.services import Clients, service

from bayop.cli import main
from bayop.load.curve import LoadCurve

WEEK_H: Final = 168
HOUR_S: Final = 3.0
"""An hour of the week takes so long."""
PEAK_QPS: Final = 7000.0
LONGEST_S: Final = 10.0
"""The latest time of a kill, after the machine was reached."""
ANY_TIME: Final = 4
"""One kill in so many comes at any time after the start, also before the machine was reached."""
MOMENT_S: Final = 0.2
LEASE_S: Final = 15.0
"""The longest lease, that of a trial, and its end."""
PATIENCE_S: Final = 300.0
_FORKS: Final = get_context("forkserver")
"""Copies of a process that has loaded the program: a start takes ms, and a kill need not wait for it."""
_FORKS.set_forkserver_preload(["bayop.cli.run", "bayop.daemon.daemon"])
OURS: Final = ("trial", "hold", "fall-back")


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill, and what came of it.

    Attributes:
        lane: Which machine.
        after_s: How long the process had run.
        applied: Whether a setting was in effect.
        told: How many windows the process had told.
    """

    lane: int
    after_s: float
    applied: bool
    told: int
    lost_setting: bool
    left_setting: bool
    lost_windows: int
    lost_observations: int

    @property
    def is_bad(self) -> bool:
        """Whether anything was lost or left."""
        return self.lost_setting or self.left_setting or self.lost_windows > 0 or self.lost_observations > 0


class Lane:
    """A machine with its agent, its clients and the `bayop run` that is killed."""

    def __init__(self, number: int, folder: Path, machine: Machine, agent: AgentProcess, seed: int) -> None:
        self._number, self._folder, self._machine = number, folder, machine
        self._random = Random(1000 * seed + number)
        self._clients = Clients(folder / "clients", PEAK_QPS)
        self._file = folder / "bayop.toml"
        self._file.write_text(service(agent, self._clients), encoding="utf-8")
        self._found = self._tree()
        self._hours = LoadCurve.built_in().first(WEEK_H).scaled_to(PEAK_QPS).hourly_qps
        self._began = time.monotonic()

    def kills(self, count: int) -> Iterator[Kill]:
        """One kill after the other."""
        try:
            yield from self._kills(count)
        finally:
            self._process.kill()
            self._process.join()

    def _kills(self, count: int) -> Iterator[Kill]:
        self._start()
        seen = self._count()
        for index in range(count):
            began = time.monotonic()
            if index % ANY_TIME:
                assert eventually(lambda: bool(self._events("watching")), within_s=PATIENCE_S), self._said()
            self._live(self._random.uniform(0.0, LONGEST_S))
            assert self._process.is_alive(), self._said()
            before = self._tree()
            self._process.kill()
            self._process.join()
            after_s, told = time.monotonic() - began, self._events("window")
            at_kill = self._tree()
            time.sleep(MOMENT_S)
            lost_setting = before == at_kill != self._found and self._tree() == self._found
            missing, unlearned = self._lost(told, seen)
            self._start()
            seen = self._count()
            is_left = not eventually(lambda: self._tree() == self._found, within_s=LEASE_S)
            yield Kill(
                self._number, after_s, at_kill != self._found, len(told), lost_setting, is_left, missing, unlearned
            )
        assert eventually(lambda: bool(self._events("watching")), within_s=PATIENCE_S), self._said()
        self._process.terminate()
        self._process.join(PATIENCE_S)
        assert self._process.exitcode == 0, self._said()

    def _live(self, duration_s: float) -> None:
        """Lets the week go on."""
        ends = time.monotonic() + duration_s
        while (left_s := ends - time.monotonic()) > 0.0:
            hour = int((time.monotonic() - self._began) / HOUR_S) % WEEK_H
            self._clients.send(self._hours[hour])
            time.sleep(min(left_s, 0.1))

    def _start(self) -> None:
        for name in ("out", "err"):
            (self._folder / name).write_bytes(b"")
        self._process = _FORKS.Process(target=brain, args=(self._file,))
        self._process.start()

    def _tree(self) -> tuple[str, str]:
        """What an agent may write."""
        return self._machine.read(CAP), self._machine.read(NIC)

    def _events(self, name: str) -> list[dict[str, Any]]:
        """The events of a name that were told as a whole."""
        text = (self._folder / "out").read_text(encoding="utf-8")
        events = map(json.loads, text[: text.rfind("\n") + 1].splitlines())
        return [event for event in events if event["event"] == name]

    def _said(self) -> str:
        return (self._folder / "err").read_text(encoding="utf-8")

    def _count(self) -> tuple[int, int]:
        """The numbers of the state's last window and observation."""
        state = self._file.with_suffix(".db")
        if not state.exists():
            return 0, 0
        with closing(sqlite3.connect(f"file:{state}?mode=ro", uri=True)) as database:
            if not database.execute("SELECT 1 FROM sqlite_master").fetchone():
                return 0, 0  # killed before its tables were made
            last = "SELECT (SELECT coalesce(max(id), 0) FROM window), (SELECT coalesce(max(id), 0) FROM observation)"
            windows, observations = database.execute(last).fetchone()
            return windows, observations

    def _lost(self, told: Sequence[dict[str, Any]], seen: tuple[int, int]) -> tuple[int, int]:
        """How many windows were told and are not there; and how many of a setting that nothing was learned of."""
        windows, observations = (now - before for now, before in zip(self._count(), seen, strict=True))
        taught = [w for w in told if w["phase"] in OURS and w["setting"] is not None]
        return max(len(told) - windows, 0), max(len(taught) - observations, 0)


def brain(file: Path) -> None:
    """`bayop run`, in a process of its own; what it says goes into files beside its own."""
    for name, descriptor in (("out", 1), ("err", 2)):
        os.dup2(os.open(file.with_name(name), os.O_WRONLY | os.O_APPEND), descriptor)
    sys.exit(main(["run", str(file), "--json"]))


def lane(number: int, agent: Path, count: int, seed: int, ends: float) -> list[Kill]:
    """The kills of one lane."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Machine(folder / "root") as machine, AgentProcess(agent, folder, machine.root) as process:
            kills = []
            for kill in Lane(number, folder, machine, process, seed).kills(count):
                kills.append(kill)
                if time.monotonic() > ends:
                    break
                sys.stderr.write(f"{kill}\n")
            return kills


def run() -> None:
    """Runs the benchmark; its exit code is 1 when anything was lost or left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agent", type=Path, help="the release build")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no other kill after so long")
    parser.add_argument("--lanes", type=int, default=4, help="machines side by side")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="write kills.csv, summary.json and env.json into a folder here")
    args = parser.parse_args()
    shares = [args.kills // args.lanes + (i < args.kills % args.lanes) for i in range(args.lanes)]
    with ThreadPoolExecutor(args.lanes) as pool:
        ends = time.monotonic() + 60.0 * args.minutes
        lanes = pool.map(lambda i: lane(i, args.agent.resolve(), shares[i], args.seed, ends), range(args.lanes))
        kills = [kill for done in lanes for kill in done]
    if folder := tell_summary("bench.kills.brain", summarized(kills), args.out):
        write_rows(folder / "kills.csv", kills)
    sys.exit(any(kill.is_bad for kill in kills))


def summarized(kills: Sequence[Kill]) -> dict[str, int]:
    """The counts."""
    return {
        "kills": len(kills),
        "while_applied": sum(kill.applied for kill in kills),
        "windows_told": sum(kill.told for kill in kills),
        "lost_settings": sum(kill.lost_setting for kill in kills),
        "left_settings": sum(kill.left_setting for kill in kills),
        "lost_windows": sum(kill.lost_windows for kill in kills),
        "lost_observations": sum(kill.lost_observations for kill in kills),
    }


if __name__ == "__main__":
    run()
