"""Does `kill -9` of `bayop run` change what it decides? Killed at random writes of a simulated week, and started again.

A service's load goes through the hours of a week, and a daemon's controller, state and reporter search, hold and polish
on a server in formulas. Before random ones of its writes the process is killed (SIGKILL), and a new one begins a second
later with what the state has. Beside it lives one that is told to stop at the same writes and goes on with what it has
kept in memory: in the end both states must have the same rows. A third one is never stopped; what it draws and how
often it misses the SLO is what the kills are held against.

Example:
  python -m bench.kills.decisions --kills 200
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import zip_longest
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any, Final

from bench import environment
from bench.results import write_results
from rich.console import Console
from rich.progress import Progress

from bayop.control.drive import drive
from bayop.control.history import History
from bayop.control.ledger import LedgerWindow, Search
from bayop.control.warm import Found
from bayop.daemon.file import DaemonFile
from bayop.daemon.halts import Halts
from bayop.daemon.report import Reporter
from bayop.daemon.steer import controller_of
from bayop.daemon.turns import Turns
from bayop.optimize.base import Observation
from bayop.state.store import Store
from bayop.testing.fakes import papers_space
from bayop.testing.plants import FakePlant
from bayop.units import HOUR_S

WEEK_H: Final = 168
PEAK_QPS: Final = 6e5
TRIAL_S: Final = 10.0
RESTART_S: Final = 1.0
FILE: Final = """
[service.web]
agent = "unix:/run/bayop/agent.sock"
latency = "sh p99.sh"
slo = "p99<300us"
[service.web.policy]
watch_s = 1800
"""


@dataclass(frozen=True, slots=True)
class Week:
    """What a daemon's state says of the time.

    Attributes:
        kills: How often the daemon was killed.
        searches: That have ended.
        trials: Their windows, and those of searches that were killed.
        windows: Those of trials, and those in which a setting or the default was held.
        over: How many of them missed the SLO.
        power_w: Mean over their time.
    """

    kills: int
    searches: int
    trials: int
    windows: int
    over: int
    power_w: float

    @classmethod
    def of(cls, path: Path, kills: int) -> Week:
        """As a state has it."""
        sums = (
            "SELECT (SELECT count(*) FROM search), sum(phase = 'trial'), count(*), sum(NOT meets_slo), "
            "sum(power_w * duration_s) / sum(duration_s) FROM window"
        )
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            return cls(kills, *database.execute(sums).fetchone())


class Stopped(BaseException):
    """Nothing is written any more."""


class Counting(Store):
    """A state that stops before one of its writes."""

    writes = 0
    last: int | None = None
    """So many are written."""

    def _insert(self, table: str, **values: object) -> None:
        if self.writes == self.last:
            self.stop()
        self.writes += 1
        super()._insert(table, **values)

    def stop(self) -> None:
        """Ends what writes."""
        raise Stopped


class Killed(Counting):
    """A state that is killed with its process before one of its writes."""

    def stop(self) -> None:
        """Ends the process, as nothing can prevent."""
        os.kill(os.getpid(), signal.SIGKILL)


class Remembering(Counting):
    """A state that keeps the objects of which its rows are made, and begins a second life with these alone."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.observed: list[Observation] = []
        self.searched: list[Search] = []
        self.held: list[Found] = []

    def add_observation(self, service: str, observation: Observation) -> None:
        """Writes and keeps it."""
        super().add_observation(service, observation)
        self.observed.append(observation)

    def add_search(self, service: str, search: Search) -> None:
        """Writes and keeps it."""
        super().add_search(service, search)
        self.searched.append(search)
        if search.stopped in ("converged", "exhausted", "budget") and search.setting is not None:
            self.held.append(Found(search.qps, search.setting))

    def add_event(self, time_s: float, service: str | None, event: str, fields: Mapping[str, Any]) -> None:
        """Writes it, and keeps what polishing has found."""
        super().add_event(time_s, service, event, fields)
        if event == "polished":
            self.held.append(Found(fields["qps"], fields["setting"]))

    def history(self, service: str, *, knobs: Collection[str], quantities: Collection[str]) -> History:
        """What was kept."""
        del knobs, quantities
        return History(known=self.observed, on_add=lambda observation: self.add_observation(service, observation))

    def last_search(self, service: str) -> int:
        """Of those that were kept."""
        del service
        return max((search.number for search in self.searched), default=0)

    def found(self, service: str, now_s: float, last: int = 500) -> list[Found]:
        """What was kept."""
        del service, now_s, last
        return self.held


def live(
    store: Store, text: str, load: Callable[[float], float], *, start_s: float, end_s: float
) -> list[LedgerWindow]:
    """A daemon's life with one service, `web`, as long as its state lets it live: its windows.

    Args:
        store: Its state.
        text: Its file.
        load: Requests/s at a time.
        start_s: When it begins.
        end_s: When it ends.
    """
    file_path = store.path.with_suffix(".toml")
    file_path.write_text(text, encoding="utf-8")
    (file,) = DaemonFile.read(file_path).services
    space = papers_space()
    plant = FakePlant(load, fail_at_s=end_s, space=space)
    windows: list[LedgerWindow] = []
    reporter = Reporter(store, lambda: windows[-1].end_s if windows else start_s, lambda _: None, lambda _: None)

    def seen(window: LedgerWindow) -> None:
        windows.append(window)
        reporter.window("web", file.slo, window)

    halts = Halts(file, store, reporter)
    turn = Turns().of("web")
    controller = controller_of(file, store, reporter, halts, turn, space=space, trial_s=TRIAL_S, on_window=seen)
    with suppress(Stopped):
        drive(controller, plant, start_s)
    return windows


def killed(path: Path, last: int, text: str, load: Callable[[float], float], *, start_s: float, end_s: float) -> None:
    """A life in a process of its own, which is killed after so many writes."""
    with Killed(path) as store:
        store.last = last
        live(store, text, load, start_s=start_s, end_s=end_s)


def live_with_kills(
    folder: Path, text: str, load: Callable[[float], float], lasts: Iterable[int], *, end_s: float
) -> Iterator[float]:
    """Lives of a daemon that is killed again and again, and of one that is told to stop instead and remembers.

    Args:
        folder: Where their states are: `killed.db` and `kept.db`.
        text: The daemon's file.
        load: Requests/s at a time.
        lasts: How many writes each life has; no more begins once one has reached the end, and one without end follows.
        end_s: When everything ends.

    Yields:
        The times when they began anew.
    """
    start_s = 0.0
    with Remembering(folder / "kept.db") as kept:
        for last in lasts:
            kept.writes, kept.last = 0, last
            windows = live(kept, text, load, start_s=start_s, end_s=end_s)
            process = get_context("spawn").Process(
                target=killed,
                args=(folder / "killed.db", last, text, load),
                kwargs={"start_s": start_s, "end_s": end_s},
            )
            process.start()
            process.join()
            if process.exitcode != -signal.SIGKILL:
                break
            start_s = RESTART_S + (windows[-1].end_s if windows else start_s)
            yield start_s
        else:
            kept.last = None
            live(kept, text, load, start_s=start_s, end_s=end_s)
            with Store(folder / "killed.db") as store:
                live(store, text, load, start_s=start_s, end_s=end_s)


def rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """All that a state has, by its tables."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        return {name: database.execute(f'SELECT * FROM "{name}"').fetchall() for (name,) in tables}  # noqa: S608


def week_load(time_s: float) -> float:
    """Requests/s: hour by hour, up and down once a day, every day a little more."""
    hour = time_s // HOUR_S
    of_day = 0.6 - 0.4 * math.cos(2.0 * math.pi * hour / 24.0)
    return PEAK_QPS * of_day * (0.8 + 0.2 * hour / WEEK_H)


def draw_lasts(kills: int, writes: int, seed: int) -> Iterator[int]:
    """Writes until each of so many kills: all of them come within nine tenths of the writes of a time without any."""
    random = Random(seed)
    return (int(random.expovariate(kills / (0.9 * writes))) for _ in range(kills))


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark; 1 when something was decided otherwise."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog="python -m bench.kills.decisions",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--kills", type=int, default=200, metavar="N", help="how many at most (default: 200)")
    parser.add_argument("--hours", type=int, default=WEEK_H, metavar="N", help="of the week (default: all)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the kills (default: 0)")
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="default: results/decisions/<date>-<kind of machine>"
    )
    args = parser.parse_args(arguments)
    console = Console(stderr=True, highlight=False)
    end_s = args.hours * HOUR_S
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Counting(folder / "never.db") as never:
            live(never, FILE, week_load, start_s=0.0, end_s=end_s)
        with Progress(console=console) as progress:
            task = progress.add_task("kills", total=args.kills)
            kills = 0
            for _ in live_with_kills(
                folder, FILE, week_load, draw_lasts(args.kills, never.writes, args.seed), end_s=end_s
            ):
                kills += 1
                progress.advance(task)
        ours, theirs = rows(folder / "killed.db"), rows(folder / "kept.db")
        weeks = [Week.of(path, kills) for path, kills in ((folder / "never.db", 0), (folder / "killed.db", kills))]
    other = sum(row != other_row for table in ours for row, other_row in zip_longest(ours[table], theirs[table]))
    out = args.out or environment.results_folder(Path(__file__).parent / "results" / "decisions")
    write_results("bench.kills.decisions", arguments, {"weeks": weeks}, report(weeks, other), out=out, console=console)
    return int(other > 0)


def report(weeks: Sequence[Week], other: int) -> str:
    """The summary."""
    lines = [
        "# Decisions after kills",
        "",
        f"Rows of the state that are not those of a daemon that has kept everything in memory: {other}.",
        "",
        "| kills | searches | trials | windows | over the SLO | mean power W |",
        "|---:|---:|---:|---:|---:|---:|",
        *(f"| {w.kills} | {w.searches} | {w.trials} | {w.windows} | {w.over} | {w.power_w:.2f} |" for w in weeks),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
