"""Killed at a write and started again, a daemon decides as one that has kept in memory what the other has written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

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
from bayop.space import Setting
from bayop.state.store import Store
from bayop.testing.fakes import papers_space
from bayop.testing.plants import FakePlant

TEXT: Final = """
[service.web]
agent = "unix:/run/bayop/agent.sock"
latency = "sh p99.sh"
slo = "p99<300us"
[service.web.policy]
max_trials = 4
watch_s = 60
"""
TRIAL_S, LASTS_S, AGAIN_S = 10.0, 400.0, 1000.0
"""How long a trial takes, how long the first life lasts if nobody kills it, and when the second begins."""


class Stopping(Store):
    """A state that is killed with its process before one of its writes."""

    writes_left: int | None = None

    def _insert(self, table: str, **values: object) -> None:
        if self.writes_left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.writes_left is not None:
            self.writes_left -= 1
        super()._insert(table, **values)


class _Stopped(BaseException):
    """Nothing is written any more."""


class Remembering(Store):
    """A state that keeps the objects of which its rows are made, and begins a second life with these alone."""

    writes_left: int | None = None

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.observed: list[Observation] = []
        self.searched: list[Search] = []
        self.held: list[Found] = []

    def _insert(self, table: str, **values: object) -> None:
        if self.writes_left == 0:
            raise _Stopped
        if self.writes_left is not None:
            self.writes_left -= 1
        super()._insert(table, **values)

    def add_observation(self, service: str, observation: Observation) -> None:
        super().add_observation(service, observation)
        self.observed.append(observation)

    def add_search(self, service: str, search: Search) -> None:
        super().add_search(service, search)
        self.searched.append(search)
        if search.stopped in ("converged", "exhausted", "budget") and search.setting is not None:
            self.held.append(Found(search.qps, search.setting))

    def add_event(self, time_s: float, service: str | None, event: str, fields: Mapping[str, Any]) -> None:
        super().add_event(time_s, service, event, fields)
        if event == "polished":
            self.held.append(Found(fields["qps"], fields["setting"]))

    def history(self, service: str, *, knobs: Collection[str], quantities: Collection[str]) -> History:
        del knobs, quantities
        return History(known=self.observed, on_add=lambda observation: self.add_observation(service, observation))

    def last_search(self, service: str) -> int:
        del service
        return max((search.number for search in self.searched), default=0)

    def found(self, service: str, last: int = 500) -> list[Found]:
        del service, last
        return self.held


def life(store: Store, start_s: float) -> tuple[list[Setting | None], list[LedgerWindow]]:
    """What a daemon applies and sees; a window's measurement follows from its setting alone."""
    file_path = store.path.with_suffix(".toml")
    file_path.write_text(TEXT, encoding="utf-8")
    (file,) = DaemonFile.read(file_path).services
    space, windows = papers_space(), list[LedgerWindow]()
    reporter = Reporter(store, lambda: windows[-1].end_s if windows else start_s, lambda _: None, lambda _: None)

    def seen(window: LedgerWindow) -> None:
        windows.append(window)
        reporter.window("web", file.slo, window)

    halts = Halts(file, store, reporter)
    plant = FakePlant(lambda _: 3e5, fail_at_s=start_s + LASTS_S, space=space)
    controller = controller_of(file, store, reporter, halts, Turns(), space=space, trial_s=TRIAL_S, on_window=seen)
    drive(controller, plant, start_s)
    return plant.applied, windows


def killed(path: Path, writes: int) -> None:
    """A first life, in a process that kills itself before a write."""
    with Stopping(path) as store:
        store.writes_left = writes
        life(store, 0.0)


KILLED: Final = """
import sys
from pathlib import Path
from tests.unit.daemon.test_steer import killed
killed(Path(sys.argv[1]), int(sys.argv[2]))
"""


@pytest.mark.parametrize("writes", [5, *(pytest.param(n, marks=pytest.mark.slow) for n in (0, 2, 8, 12))])
def test_killed_at_a_write_it_decides_as_one_that_remembers(tmp_path: Path, writes: int) -> None:
    path = tmp_path / "killed.db"
    died = subprocess.run([sys.executable, "-c", KILLED, path, str(writes)], check=False)
    assert died.returncode == -signal.SIGKILL
    with Remembering(tmp_path / "kept.db") as kept:
        kept.writes_left = writes
        with pytest.raises(_Stopped):
            life(kept, 0.0)
        kept.writes_left = None
        expected = life(kept, AGAIN_S)
    assert expected[1], "something was decided"
    with Store(path) as store:
        assert life(store, AGAIN_S) == expected


def test_what_polish_has_made_of_what_a_search_has_found_is_held_again_without_a_trial(tmp_path: Path) -> None:
    with Store(tmp_path / "held.db") as store:
        _, before = life(store, 0.0)
        found, *polished = (found.setting for found in store.found("web"))
    assert [w.phase for w in before].count("trial") > 0
    assert before[-1].setting == polished[-1] != found
    with Store(tmp_path / "held.db") as store:
        again, after = life(store, AGAIN_S)
    assert again[:2] == [None, polished[-1]]
    assert "trial" not in [w.phase for w in after]
