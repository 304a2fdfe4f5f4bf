"""Plays the day: each hour's load, with a turn of the default and a turn of `bayop run` in an order drawn by lot.

Two turns of one hour share its load and most of what else goes on in the machine, so their difference is about BayOp.
Its turn has everything that it does: the windows of the default before a search, trials, a hold.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random
from typing import Final, Protocol

from bayop import _core
from bayop.errors import BayopError, InputError
from bayop.experiments.rig.day.clients import Clients
from bayop.experiments.rig.day.keeper import Keeper
from bayop.experiments.rig.day.record import RigDay, Turn, Who
from bayop.experiments.rig.day.server import Server
from bayop.live.search import utilization
from bayop.load.curve import LoadCurve
from bayop.slo import Slo

LEAST_HOUR_S: Final = 20.0
"""In a shorter hour a search takes most of its turn."""

_LOOK_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class RigDayPlan:
    """What is played.

    Attributes:
        curve: The load of each hour; its length is the day's.
        hour_s: How long an hour takes, in s.
        slo: The latency objective.
        objective: What `bayop run` minimises.
        headroom: How far it holds settings below the SLO's limit, as a share of it.
        seed: Of everything random.

    Raises:
        InputError: an hour is too short.
    """

    curve: LoadCurve
    hour_s: float
    slo: Slo
    objective: str = "power"
    headroom: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.hour_s < LEAST_HOUR_S:
            raise InputError(
                f"an hour of the day must take {LEAST_HOUR_S:g} s or more",
                value=f"{self.hour_s:g} s",
                hint="play it in more minutes, or fewer hours of it",
            )


def record_of(plan: RigDayPlan, server: Server) -> RigDay:
    """The record of a day that has not begun; looks for a moment how busy the machine is with other work."""
    return RigDay(
        machine=server.description,
        caveat=server.caveat,
        slo=str(plan.slo),
        objective=plan.objective,
        curve=plan.curve.name,
        hourly_qps=plan.curve.hourly_qps,
        hour_s=plan.hour_s,
        seed=plan.seed,
        busy_before=utilization(server.client),
    )


class Watcher(Protocol):
    """Who is told of a day while it is played."""

    def on_page(self, url: str) -> None:
        """`bayop run` serves its page, for as long as the day lasts."""

    def on_turn(self, turn: Turn) -> None:
        """A turn is over."""


def play_rig_day(plan: RigDayPlan, server: Server, record: RigDay, watcher: Watcher) -> None:
    """Plays the day; what was seen is in the record at any time, and what BayOp has done when it is over.

    Args:
        plan: What to play.
        server: With nothing applied.
        record: Takes in everything.
        watcher: Is told at once.

    Raises:
        BayopError: the load, the service, the agent or `bayop run` has failed.
        KeyboardInterrupt: somebody has ended it.
    """
    found = server.attributes()
    try:
        _Player(plan, server, record, watcher).play()
    finally:
        record.restored = server.attributes() == found


@dataclass(frozen=True, slots=True)
class Latencies:
    """Of a slice: how many requests were due, and how many were answered after so many us."""

    requests: int
    histogram: Sequence[tuple[float, int]]


@dataclass(frozen=True, slots=True)
class _Counters:
    """What only grows: requests and processor time of the service; NET_RX softirqs and energy of the machine."""

    served: int
    service_cpu_s: float
    polls: int
    energy_j: float | None


class _Player:
    def __init__(self, plan: RigDayPlan, server: Server, record: RigDay, watcher: Watcher) -> None:
        self._plan, self._server, self._record, self._watcher = plan, server, record, watcher
        self._seen: list[Latencies] = []
        """Of the turn that is under way, slice by slice."""

    def play(self) -> None:
        plan, server, random = self._plan, self._server, Random(self._plan.seed)
        load = server.load
        first = replace(load.plan.at(plan.curve.hourly_qps[0]), seed=plan.seed)
        with (
            Clients(first, through=load.through, on_slice=self._note) as clients,
            Keeper(
                server,
                latency=clients.command,
                slo=str(plan.slo),
                objective=plan.objective,
                headroom=plan.headroom,
                hour_s=plan.hour_s,
            ) as keeper,
        ):
            self._watcher.on_page(keeper.page_url)
            began = time.monotonic()
            try:
                for hour, qps in enumerate(plan.curve.hourly_qps):
                    clients.change(qps)
                    order: list[Who] = ["default", "bayop"]
                    random.shuffle(order)
                    for part, who in enumerate(order):
                        ends = began + (hour + (part + 1) / 2) * plan.hour_s
                        turn = self._turn(hour, part, who, ends, (clients, keeper))
                        self._record.turns.append(turn)
                        self._watcher.on_turn(turn)
            finally:
                self._record.duration_s = time.monotonic() - began
                self._record.brain_cpu_s = keeper.cpu_s
                with suppress(BayopError):  # what has ended the day says more
                    keeper.note(self._record)

    def _turn(self, hour: int, part: int, who: Who, ends: float, beside: tuple[Clients, Keeper]) -> Turn:
        """Lets one of them have its turn, until the time of a clock that never goes back."""
        clients, keeper = beside
        (keeper.resume if who == "bayop" else keeper.pause)()
        start_s, before = time.time(), self._counters()
        self._seen = []
        while (left_s := ends - time.monotonic()) > 0:
            clients.check()
            keeper.check()
            time.sleep(min(left_s, _LOOK_S))
        seen, after = self._seen[1:], self._counters()  # the first slice began before
        limit_us = self._plan.slo.limit_us
        requests = sum(each.requests for each in seen)
        return Turn(
            hour=hour,
            part=part,
            who=who,
            qps=self._plan.curve.hourly_qps[hour],
            start_s=start_s,
            end_s=time.time(),
            latency_us=latency_us(seen, self._plan.slo.quantile),
            requests=requests,
            over=requests - sum(count for each in seen for us, count in each.histogram if us <= limit_us),
            served=after.served - before.served,
            service_cpu_s=after.service_cpu_s - before.service_cpu_s,
            polls=after.polls - before.polls,
            energy_j=_between(before.energy_j, after.energy_j),
        )

    def _counters(self) -> _Counters:
        server = self._server
        return _Counters(server.served(), server.service_cpu_s(), server.polls(), server.energy_j())

    def _note(self, report: _core.LoadReport) -> None:
        """Takes in a slice; called by the load's thread."""
        self._seen.append(Latencies(report.counts()["intended"], report.histogram()))


def latency_us(slices: Sequence[Latencies], quantile: float) -> float | None:
    """A quantile of the latency of all requests of some slices; None without any, or when it falls on a lost one."""
    counts: Counter[float] = Counter()
    for each in slices:
        counts.update(dict(each.histogram))
    left = quantile * sum(each.requests for each in slices)
    for us in sorted(counts):
        left -= counts[us]
        if left <= 0.0:
            return us
    return None


def _between(before_j: float | None, after_j: float | None) -> float | None:
    return None if before_j is None or after_j is None else after_j - before_j
