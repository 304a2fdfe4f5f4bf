"""One service, looked after by a thread of its own: reached, measured, searched, held; and again after any trouble."""

from __future__ import annotations

import queue
import threading
import time
from concurrent.futures import Future
from dataclasses import replace
from typing import Final

from bayop.control.controller import Controller
from bayop.control.ledger import LedgerWindow
from bayop.daemon.advice.adviser import Adviser, Proof
from bayop.daemon.file import ServiceFile
from bayop.daemon.halts import Halts
from bayop.daemon.hold import FellBackError
from bayop.daemon.keep import AskedError, keep, observe
from bayop.daemon.plant import LivePlant
from bayop.daemon.report import Reporter
from bayop.daemon.savings.lately import saved_lately
from bayop.daemon.standing import Doing, Standing
from bayop.daemon.steer import controller_of
from bayop.daemon.turns import Turns
from bayop.errors import BayopError, DriftError, as_ours
from bayop.live.agent.checks import check_restored
from bayop.live.agent.lease import TTL_S
from bayop.live.search import client_of, space_of
from bayop.optimize.base import Problem
from bayop.search import check_measured
from bayop.space import Space
from bayop.state.store import StateError, Store

_FIRST_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 60.0
_HANGS_S: Final = 180.0
"""Nothing that a service does takes so long without a sign of life: longer than any request and any optimizer."""


class Service:
    """Looks after one service until it is ended.

    Whatever goes wrong, the machine's own settings come back, by our hand or by the end of the lease; then everything
    begins anew, after a pause that doubles from 1 s to a minute while nothing can be held. What was learned stays.

    Args:
        file: What is to be done.
        store: What is known, and remembered.
        reporter: Who is told what happens.
        holder: Who we are, as the agent names us to others.
        turns: Whose turn it is to search, of all services.
        paused: Whether it begins by waiting to be resumed.
    """

    def __init__(
        self,
        file: ServiceFile,
        store: Store,
        reporter: Reporter,
        *,
        holder: str,
        turns: Turns,
        paused: bool = False,
    ) -> None:
        self.file = file
        self._store, self._reporter, self._holder = store, reporter, self._named(holder)
        self._halts = Halts(file, store, reporter)
        lease_s = max(TTL_S, file.hold.lease_s)  # what a hold's lease was made for may begin with a trial's setting
        self._turn = turns.of(file.name, group=file.group, lease_s=lease_s)
        self._ended, self._paused = threading.Event(), threading.Event()
        self._asked = threading.Event()
        self._forgetting: queue.SimpleQueue[Future[int]] = queue.SimpleQueue()
        self._wake = threading.Event()
        """Set when somebody wants something of us."""
        self._idle = threading.Event()
        """Set while it is paused and has let go of its machine."""
        self._restored = file.mode != "apply"
        """Before its agent was asked, nobody knows what an earlier process of ours has left there."""
        self.has_reached = False
        """Whether its agent has ever answered: without that, nothing was asked of it."""
        self._trouble: str | None = None
        self._controller: Controller | None = None
        self._last: LedgerWindow | None = None
        self._judge: Adviser | Proof | None = None
        """Who gives advice, or holds it against what is measured."""
        self._pause_s = _FIRST_PAUSE_S
        self._windows = 0
        """How many the machine has shown since it was reached."""
        self._alive_s = time.monotonic()
        if paused:
            self._paused.set()
        self._thread = threading.Thread(target=self._run, name=f"bayop-{file.name}", daemon=True)
        self._thread.start()

    def pause(self) -> None:
        """Puts the default back and waits."""
        self._paused.set()
        self._wake.set()

    def resume(self) -> None:
        """Goes on."""
        self._paused.clear()
        self._wake.set()

    def lets_go(self, timeout_s: float) -> bool:
        """Whether it is paused and has let go of its machine, waited for no longer than `timeout_s`."""
        return self._idle.wait(timeout_s)

    def trigger(self) -> None:
        """Searches now.

        Raises:
            BayopError: nothing may be tried now, or it is about something else.
        """
        now_s, controller = self._reporter.clock(), self._controller
        if self.file.mode != "apply":
            raise BayopError(
                "a service must be in mode apply to search",
                wrong=f"{self.file.name} is in mode {self.file.mode}",
                hint='mode = "apply"',
            )
        if (halt := self._halts.at(now_s)) is not None:
            raise BayopError(wrong=f"{self.file.name} can't search now: {self._halts.why(halt, now_s)}")
        if controller is None or not controller.between_searches:
            raise BayopError(
                "a service must hold or watch to begin a search",
                wrong=f"{self.file.name} can't begin one now: {self._doing()}",
                hint="a search that is under way goes on; bayop status --file says what it is about",
            )
        if (other := self._turn.other) is not None:
            raise BayopError(
                "of a group's services at most one must be searched at a time",
                wrong=f"{self.file.name} can't search now: {other} is searched, or was just now",
                hint="try again when that has ended; bayop status --file says what it is about",
            )
        self._asked.set()
        self._wake.set()

    def forget(self) -> Future[int]:
        """Lets go of the machine, forgets what its settings have measured, and begins anew; how many observations."""
        future: Future[int] = Future()
        self._forgetting.put(future)
        self._wake.set()
        return future

    def standing(self, paused_by: tuple[str, ...]) -> Standing:
        """How it stands, where somebody may have paused it; what of that can't be told is its trouble."""
        now_s, controller = self._reporter.clock(), self._controller
        setting = None if controller is None else controller.in_effect
        standing = Standing(
            self.file,
            self._doing(),
            setting,
            self._last,
            budget_left=None,
            quiet_until_s=None,
            waits_for=self._turn.waits_for,
            paused_by=paused_by,
            restored=self._knows_default if controller is None else setting is None,
            trouble=self._trouble,
            saved=None,
        )
        try:
            return replace(
                standing,
                budget_left=self._halts.budget_left(now_s),
                quiet_until_s=self.file.quiet.until_s(now_s),
                saved=saved_lately(self._store, self.file, now_s),
            )
        except Exception as error:  # one service's trouble is not the others', who are told in the same answer
            return replace(standing, trouble=as_ours(error).message)

    def problem(self) -> Problem | None:
        """What its searches look for now, with what they know; None while no controller steers its machine."""
        controller = self._controller
        return None if controller is None or not controller.qps else controller.problem()

    def end(self) -> None:
        """Puts the default back and ends; `join` waits for it."""
        self._ended.set()
        self._wake.set()

    def join(self, timeout_s: float) -> bool:
        """Whether it has ended, waited for no longer than `timeout_s`."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    @property
    def knows_restored(self) -> bool:
        """Whether the machine is known to have its own settings, without asking anybody."""
        return self._restored

    @property
    def _knows_default(self) -> bool:
        """Whether nothing of ours is left, and nobody else's setting was seen last."""
        return self._restored and (self._last is None or self._last.phase != "other")

    def lives(self) -> bool:
        """Whether it does what it should, and does not hang."""
        return self._thread.is_alive() and time.monotonic() - self._alive_s < _HANGS_S

    def _run(self) -> None:
        while not self._ended.is_set():
            self._alive_s = time.monotonic()
            self._wake.clear()
            try:
                self._forget()
                if self._paused.is_set():
                    self.find_out()
                    self._idle.set()
                    self._wake.wait(1.0)
                    continue
                self._idle.clear()
                self._keep()
            except _LetGoError:
                continue
            except Exception as error:  # one service's trouble is not the others'
                self._rest(as_ours(error))
        self.find_out()

    def find_out(self) -> bool:
        """Whether the machine has its own settings; asks its agent where nobody knows.

        What an earlier process that wrote our state has left is put back. What this one has is not: it may be a
        successor's.
        """
        if not self._restored:
            try:
                client = client_of(self.file.live)
                status = client.status()
                self.has_reached = True
                by = status.applied_by.holder if status.held and status.applied_by is not None else ""
                if by and by != self._holder and by in map(self._named, self._store.holders()):
                    check_restored(client.restore())
                elif by == self._holder or any(held.state == "latched" for held in status.held):
                    raise DriftError(wrong="not every knob is known to have its own value back")
                self._turn.clear()
                self._restored, self._trouble = True, None
            except BayopError as error:
                self._trouble = error.message
        return self._restored

    def _named(self, holder: str) -> str:
        """A process as the agent names it to others when it looks after this service."""
        return f"{holder}, {self.file.name}"[:128]

    def _forget(self) -> None:
        while not self._forgetting.empty():
            future = self._forgetting.get()
            try:
                future.set_result(self._store.forget(self.file.name))
            except StateError as error:
                future.set_exception(error)

    def _rest(self, error: BayopError) -> None:
        self._trouble = error.message
        self._reporter.trouble(self.file.name, error, self._pause_s)
        ends = time.monotonic() + self._pause_s
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
        while time.monotonic() < ends and not self._is_wanted():
            self._alive_s = time.monotonic()
            if self._wake.wait(max(min(ends - time.monotonic(), 1.0), 0.0)):
                self._wake.clear()

    def _keep(self) -> None:
        file = self.file
        client = client_of(file.live)
        writes = file.mode == "apply"
        space = None if file.mode == "observe" else space_of(file.live, client, writes=writes).without_auto()
        written = space if writes else None
        self.has_reached = True
        self._judge = self._judge_of(space)
        machine = LivePlant(file, client, written, holder=self._holder, fell_back=self._on_fall_back, pause=self._wait)
        self._turn.clear()
        self._windows, self._trouble, self._restored = 0, None, written is None
        try:
            check_measured(machine, file.objective)
            self._reporter.say(
                "watching",
                f"{file.mode}: {machine.description}, {machine.qps:.0f} qps",
                service=file.name,
                mode=file.mode,
                description=machine.description,
                measured=dict(machine.baseline.quantities),
            )
            self._steer(machine, written)
        finally:
            self._controller = self._last = None
            self._asked.clear()
            self._turn.end()
            machine.restore()
            self._turn.clear()
            self._restored = True

    def _steer(self, machine: LivePlant, space: Space | None) -> None:
        file, clock = self.file, self._reporter.clock
        if space is None:
            observe(machine, file.slo, file.watch_s, clock, self._on_window, phase_s=file.phase_s)
        self._controller = controller_of(
            file,
            self._store,
            self._reporter,
            self._halts,
            self._turn,
            space=space,
            trial_s=machine.trial_s,
            on_window=self._on_window,
        )
        keep(self._controller, machine, clock)

    def _on_window(self, window: LedgerWindow) -> None:
        # A setting that can't be held must not be searched for again and again: only a window of it, or of the default
        # that no search follows, is a success.
        if window.phase != "trial" and (self._windows or self.file.mode != "apply"):
            self._pause_s = _FIRST_PAUSE_S
        self._windows += 1
        if window.phase == "trial":
            self._asked.clear()  # what is asked for is under way, whoever has begun it
        self._last = window
        self._reporter.window(self.file.name, self.file.slo, window)
        if self._judge is not None:
            self._judge.heed(window)

    def _judge_of(self, space: Space | None) -> Adviser | Proof | None:
        if self.file.mode == "apply":
            return Proof(self.file, self._store, self._reporter)
        if space is None:
            return None
        return Adviser(self.file, self._store, self._reporter, space, listen=lambda: self._wait(0.0))

    def _on_fall_back(self, fell_back: FellBackError) -> None:
        # People read it with the window that it has cut short.
        told = {"condition": fell_back.condition, "why": fell_back.why}
        self._reporter.say("fell-back", "", service=self.file.name, **told)

    def _wait(self, duration_s: float) -> None:
        """Waits, for less than that when somebody wants something of us, and hears who does."""
        if duration_s > 0.0 and self._wake.wait(duration_s):
            self._wake.clear()
        self._alive_s = time.monotonic()
        if self._is_wanted():
            raise _LetGoError
        if self._asked.is_set() and self._controller is not None and self._controller.may_end_window:
            self._asked.clear()
            raise AskedError

    def _is_wanted(self) -> bool:
        return self._ended.is_set() or self._paused.is_set() or not self._forgetting.empty()

    def _doing(self) -> Doing:
        if self._paused.is_set() and self._idle.is_set():
            return "paused"
        if self._controller is not None:
            return self._controller.phase
        if self._trouble is not None:
            return "trouble"
        return "beginning" if self._last is None else self._last.phase


class _LetGoError(Exception):
    """Somebody wants the default back."""
