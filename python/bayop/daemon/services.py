"""Every service of a file, and what an operator or the stop file wants of them. Safe to use from several threads.

An operator's word to pause is remembered as an event, so a service that begins anew, after a restart too, is as paused
as it was.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from bayop.daemon.file import ServiceFile
from bayop.daemon.report import Reporter
from bayop.daemon.service import Service
from bayop.daemon.standing import Standing
from bayop.daemon.turns import Turns
from bayop.errors import BayopError, no_service
from bayop.optimize.base import Problem
from bayop.state.store import StateError, Store

_END_S: Final = 25.0
"""How long the services may take to put their machines' own settings back; systemd waits longer."""
_LET_GO_S: Final = 5.0
"""How long an operator waits for that; it is there within a second where the agent answers."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Names of services: which were begun, were ended (some of them to begin anew), and went on."""

    begun: list[str]
    ended: list[str]
    unchanged: list[str]


class Services:
    """Begins, ends and steers the threads of services.

    Args:
        files: What is to be done; nothing is before `begin`.
        store: What is known, and remembered.
        reporter: Who is told what happens.
        holder: Who we are, as agents name us to others.
        stopped: Whether there is a stop file.
    """

    def __init__(
        self, files: Sequence[ServiceFile], store: Store, reporter: Reporter, *, holder: str, stopped: bool = False
    ) -> None:
        self._store, self._reporter, self._holder = store, reporter, holder
        self._mutex = threading.Lock()
        """Held for what takes no time: who is there, and who is paused."""
        self._files: dict[str, ServiceFile] = {}
        self._there: dict[str, Service] = {}
        self._paused: set[str] = set()
        self._is_stopped = stopped
        self._turns = Turns()
        self._ending: list[Service] = []
        """Those that may still have to put their machine's own settings back."""
        self._is_over = False
        self._expect(files)

    def live(self) -> bool:
        """Whether each does what it should."""
        with self._mutex:
            return all(service.lives() for service in self._there.values())

    def begin(self) -> None:
        """Looks after the services."""
        with self._mutex:
            for name, file in {} if self._is_over else self._files.items():
                if name not in self._there:
                    self._there[name] = Service(
                        file,
                        self._store,
                        self._reporter,
                        holder=self._holder,
                        turns=self._turns,
                        paused=bool(self._paused_by(name)),
                    )

    def take(self, files: Sequence[ServiceFile]) -> Changes:
        """Does what is to be done from now on; a service whose file has not changed goes on."""
        with self._mutex:
            wanted = {file.name: file for file in files}
            ended = [name for name, service in self._there.items() if service.file != wanted.get(name)]
            unchanged = [name for name in self._there if name not in ended]
        self._expect(files)
        self._end(ended)
        self._await_ended()
        with self._mutex:  # one whose agent was named wrongly, say, has left nothing anywhere
            self._ending = [each for each in self._ending if each.has_reached or not each.join(0.0)]
        self.begin()
        return Changes([name for name in wanted if name not in unchanged], ended, unchanged)

    def end(self) -> bool:
        """Puts the machines' own settings back and ends; whether all of that was done."""
        with self._mutex:
            self._is_over, names = True, list(self._there)
        self._end(names)
        # Where one could not, a successor of its name or the agent itself may have done it since.
        return all(each.join(0.0) and each.find_out() for each in self._await_ended())

    def _expect(self, files: Sequence[ServiceFile]) -> None:
        with self._mutex:
            paused = {file.name for file in files if self._store.is_paused(file.name)}
            self._files = {file.name: file for file in files}
            self._paused |= paused

    def _end(self, names: Collection[str]) -> None:
        """Has services end; `_await_ended` waits for them."""
        with self._mutex:
            ending = [there for name in names if (there := self._there.pop(name, None)) is not None]
            self._ending += ending
        for service in ending:
            service.end()

    def _await_ended(self) -> list[Service]:
        """Those that have not ended when time is over, or whose machines are not known to have their own settings."""
        ends = time.monotonic() + _END_S
        with self._mutex:
            ending = list(self._ending)
        left = [each for each in ending if not (each.join(max(ends - time.monotonic(), 0.0)) and each.knows_restored)]
        with self._mutex:
            self._ending = [each for each in self._ending if each in left or each not in ending]
        return left

    def stop(self, *, so: bool) -> None:
        """Has every service let go of its machine while there is a stop file, and go on when there is none."""
        with self._mutex:
            self._is_stopped = so
            self._settle()

    @property
    def paused(self) -> list[str]:
        """The services that an operator has paused."""
        with self._mutex:
            return [name for name in self._files if name in self._paused]

    def named(self, name: str | None) -> list[str]:
        """The service of that name, or all.

        Raises:
            InputError: there is none.
        """
        names = list(self._files)
        if name is not None and name not in names:
            raise no_service(name, names)
        return names if name is None else [name]

    def standings(self, names: Collection[str]) -> list[dict[str, object]]:
        """How services stand, as events."""
        return [standing.event() for standing in self.stand(names)]

    def stand(self, names: Collection[str]) -> list[Standing]:
        """How services stand."""
        with self._mutex:
            there = [(self._there[name], self._paused_by(name)) for name in names if name in self._there]
        return [service.standing(paused_by) for service, paused_by in there]

    def problem(self, name: str) -> Problem | None:
        """What a service's searches look for now; None while its machine is not reached, or it only observes."""
        with self._mutex:
            service = self._there.get(name)
        return None if service is None else service.problem()

    def pause(self, names: Collection[str], by: str) -> list[dict[str, object]]:
        """Has services let go of their machines, waits for that, and tells how they stand; it lasts until `resume`.

        Raises:
            StateError: it can't be remembered; they are paused until `bayop run` ends.
        """
        with self._mutex:
            self._paused.update(names)
            self._settle()
            waiting = [service for name, service in self._there.items() if name in names]
        try:
            for name in names:
                self._reporter.decision("paused", f"paused by {by}", service=name, by=by)
        except StateError as error:
            raise error.but(hint="it is paused, until bayop run ends") from error
        ends = time.monotonic() + _LET_GO_S
        for service in waiting:
            service.lets_go(max(ends - time.monotonic(), 0.0))
        return self.standings(names)

    def resume(self, names: Collection[str], by: str) -> list[dict[str, object]]:
        """Has services go on that an operator has paused, where no stop file is in the way, and tells how all stand.

        Raises:
            StateError: it can't be remembered; they stay paused.
        """
        with self._mutex:
            paused = [name for name in names if name in self._paused]
        for name in paused:
            self._reporter.decision("resumed", f"resumed by {by}", service=name, by=by)
        with self._mutex:
            self._paused.difference_update(paused)
            self._settle()
        return self.standings(names)

    def trigger(self, name: str, by: str) -> list[dict[str, object]]:
        """Has a service search now, and tells how it stands.

        Raises:
            BayopError: it can't.
        """
        self._one(name).trigger()
        self._reporter.say("asked", f"a search is asked for by {by}", service=name, by=by)
        return self.standings([name])

    def forget(self, name: str, by: str) -> list[dict[str, object]]:
        """Has a service forget what its settings have measured, waits for that, and tells how it stands.

        Raises:
            StateError: it can't be forgotten.
            BayopError: it takes too long.
        """
        try:
            count = self._one(name).forget().result(_LET_GO_S)
        except TimeoutError as error:
            raise BayopError(
                wrong=f"{name} has not let go of its machine within {_LET_GO_S:g} s",
                hint="it forgets as soon as it has; bayop history --of event says what keeps it",
            ) from error
        self._reporter.say(
            "forgotten", f"{by} has it forget {count} observations", service=name, by=by, observations=count
        )
        return self.standings([name])

    def _one(self, name: str) -> Service:
        with self._mutex:
            if name not in self._there:
                raise BayopError(wrong=f"{name} is just ending, to begin anew", hint="try again")
            return self._there[name]

    def _paused_by(self, name: str) -> tuple[str, ...]:
        return ("operator",) * (name in self._paused) + ("stop file",) * self._is_stopped

    def _settle(self) -> None:
        """Lets every service know whether it is paused."""
        for name, service in self._there.items():
            (service.pause if self._paused_by(name) else service.resume)()
