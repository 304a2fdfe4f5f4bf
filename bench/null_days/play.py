"""A day on the rig with nothing to gain: `bayop run` holds what is the machine's own, and says what that saves."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bayop.control.ledger import Search
from bayop.daemon.savings.account import saved
from bayop.daemon.savings.worth import Worth
from bayop.errors import BayopError
from bayop.experiments.rig.day.clients import Clients
from bayop.experiments.rig.namespaces import Rig
from bayop.last_words import LastWords
from bayop.measurement import Measurement
from bayop.optimize.base import Observation
from bayop.program import end
from bayop.space import DEFER_HARD_IRQS, GRO_FLUSH_TIMEOUT_US, Setting
from bayop.state.held import HeldTime, read_held_times
from bayop.state.records import read
from bayop.state.store import Store

SETTING: Final[Setting] = {GRO_FLUSH_TIMEOUT_US: 0.0, DEFER_HARD_IRQS: 0.0}
"""What the rig's device has of its own."""

WATCH_S: Final = 0.5
_SERVICE: Final = "memcached"
_KNOWN: Final = (0.84, 0.88, 0.92, 0.96, 1.0, 1.04, 1.08, 1.12, 1.16)
"""Loads at which the setting is known, as shares of the day's first: what a first window shows scatters."""
_START_S: Final = 60.0
_END_S: Final = 30.0
_LOOK_S: Final = 0.05

# No trigger but a breach of an SLO that nothing here breaks: what is held stays.
_FILE: Final = f"""\
[service.{_SERVICE}]
agent = "{{agent}}"
latency = {{latency}}
slo = "p99<1s"
mode = "apply"
[service.{_SERVICE}.knobs]
"{GRO_FLUSH_TIMEOUT_US}" = "0:0"
"{DEFER_HARD_IRQS}" = "0:0"
[service.{_SERVICE}.window]
window_s = 0.2
settle_s = 0
most_windows = 1
[service.{_SERVICE}.policy]
triggers = "breach"
watch_s = {WATCH_S}
polish = 0
[service.{_SERVICE}.savings]
share = 0.1
least_share = 0.1
enough = 1000
"""


@dataclass(frozen=True, slots=True)
class Day:
    """What `bayop run` says in the evening.

    Attributes:
        number: Counts from 1.
        windows: How many it has watched.
        held_s: For how long it has held the setting, in s.
        switchbacks: How often the default was in effect meanwhile.
        default_w: What the default takes; None without a switchback.
        saved_w: What the setting saves of that.
        low_w: Lower end of its 95 % interval; None where nobody knows it.
        high_w: Upper end.
        let_go: Whether it let go of the setting before the evening.
    """

    number: int
    windows: int
    held_s: float
    switchbacks: int
    default_w: float | None
    saved_w: float | None
    low_w: float | None
    high_w: float | None
    let_go: bool

    @property
    def says_saving(self) -> bool:
        """Whether the whole interval lies above 0."""
        return self.low_w is not None and self.low_w > 0.0

    @property
    def says_loss(self) -> bool:
        """Whether the whole interval lies below 0."""
        return self.high_w is not None and self.high_w < 0.0


def play(rig: Rig, number: int, hourly_qps: Sequence[float], hour_s: float) -> Day:
    """Plays one day.

    Args:
        rig: With nothing applied.
        number: The day's, from which the order of its requests follows.
        hourly_qps: The load of each hour.
        hour_s: How long an hour takes, in s.

    Raises:
        BayopError: the load, the agent or `bayop run` has failed, or nothing was held.
    """
    load = rig.load
    first = replace(load.plan.at(hourly_qps[0]), seed=number)
    with (
        TemporaryDirectory(prefix="bayop-null-day-") as name,
        Clients(first, through=load.through, on_slice=lambda _: None) as clients,
    ):
        file = Path(name) / "bayop.toml"
        file.write_text(_FILE.format(agent=rig.address, latency=json.dumps(clients.command)), encoding="utf-8")
        state = file.with_suffix(".db")
        _remember(state, hourly_qps[0])
        with _running(file) as process:
            _await_hold(process, state)
            began = time.monotonic()
            for hour, qps in enumerate(hourly_qps):
                clients.change(qps)
                while (left_s := began + (hour + 1) * hour_s - time.monotonic()) > 0.0:
                    clients.check()
                    _check(process, state)
                    time.sleep(min(left_s, _LOOK_S))
        return _evening(number, state)


def _remember(state: Path, qps: float) -> None:
    """Has the state know the setting, which is then held without a trial: a search would not find it better."""
    now_s = time.time()
    with Store(state) as store:
        for count, share in enumerate(_KNOWN, start=1):
            shown = Measurement({"power_w": 30.0, "p99_us": 500.0, "qps": share * qps})
            store.add_observation(_SERVICE, Observation(SETTING, shown, share * qps))
            search = Search(count, "start", now_s, now_s, share * qps, (), "converged", SETTING)
            store.add_search(_SERVICE, search)


@contextmanager
def _running(file: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`bayop run`, which puts the default back in the end."""
    with file.with_suffix(".log").open("wb") as log:
        words = [sys.executable, "-m", "bayop", "run", str(file)]
        process = subprocess.Popen(words, stdout=log, stderr=log)
    try:
        yield process
    finally:
        end(process, within_s=_END_S)


def _await_hold(process: subprocess.Popen[bytes], state: Path) -> None:
    ends = time.monotonic() + _START_S
    while not any(row["phase"] == "hold" for row in read(state, "window", last=1)):
        _check(process, state)
        if time.monotonic() > ends:
            raise BayopError(wrong=f"nothing was held within {_START_S:g} s", hint=_said(state))
        time.sleep(_LOOK_S)


def _check(process: subprocess.Popen[bytes], state: Path) -> None:
    if process.poll() is not None:
        raise BayopError(wrong=f"bayop run ended with exit code {process.returncode}", hint=_said(state))


def _said(state: Path) -> str | None:
    return LastWords.of(state.with_suffix(".log").read_text(encoding="utf-8", errors="replace")).wrong


def _evening(number: int, state: Path) -> Day:
    time_held = read_held_times(state).get(_SERVICE, HeldTime((), ()))
    account = saved(time_held, Worth(), 0.0, math.inf)
    power = account.power_w
    ends = () if power is None else (power.low, power.high)
    low_w, high_w = ends if ends and all(map(math.isfinite, ends)) else (None, None)
    return Day(
        number=number,
        windows=len(read(state, "window", last=10**9)),
        held_s=account.held_s,
        switchbacks=0 if power is None else power.switchbacks,
        default_w=None if power is None else power.reference,
        saved_w=None if power is None else power.value,
        low_w=low_w,
        high_w=high_w,
        let_go=any(row["event"] == "let-go" for row in read(state, "event", last=10**9)),
    )
