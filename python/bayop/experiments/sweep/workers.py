"""Where trials run: in this process, or in several on this machine."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait as wait_for
from types import TracebackType
from typing import Final, Protocol, Self

from bayop.errors import BayopError
from bayop.experiments.sweep.makers import Maker
from bayop.experiments.sweep.plan import Trial
from bayop.experiments.sweep.trial import Outcome, run_trial

_ENDING: Final = (signal.SIGINT, signal.SIGTERM)


class Workers(Protocol):
    """Runs trials, some of them at a time. Used in a `with` block; when it ends, nothing runs any more."""

    @property
    def capacity(self) -> int:
        """How many trials may be started and not yet finished, so that nobody is idle."""
        ...

    def start(self, trial: Trial) -> None:
        """Starts a trial."""
        ...

    def finished(self) -> list[tuple[Trial, Outcome]]:
        """The trials that have finished since; waits for at least one, and at least one was started.

        Raises:
            BayopError: a trial failed.
        """
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Here:
    """Runs one trial after the other in this process: a live machine has one writer."""

    capacity = 1

    def __init__(self, maker: Maker, *, version: str) -> None:
        self._maker, self._version = maker, version
        self._started: list[Trial] = []

    def start(self, trial: Trial) -> None:
        """Takes note of the trial."""
        self._started.append(trial)

    def finished(self) -> list[tuple[Trial, Outcome]]:
        """Runs the trial."""
        trial = self._started.pop()
        return [(trial, run_trial(self._maker, trial, self._version))]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is left."""


class Processes:
    """Runs trials in processes of their own on this machine; they end with this one, also when it is killed.

    Args:
        maker: Gives every trial its target.
        count: How many processes.
        version: BayOp's version.
    """

    def __init__(self, maker: Maker, count: int, *, version: str) -> None:
        self._maker, self._version = maker, version
        self._running: dict[Future[Outcome], Trial] = {}
        self._strangers = set(active_children())
        # Fresh processes: a fork of one with threads may hang.
        self._pool = ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_end_with_parent)
        self.capacity = 2 * count

    def start(self, trial: Trial) -> None:
        """Hands the trial to the next free process."""
        with _children_begun_whole():
            future = self._pool.submit(run_trial, self._maker, trial, self._version)
        self._running[future] = trial

    def finished(self) -> list[tuple[Trial, Outcome]]:
        """The trials whose process is done with them."""
        futures, _ = wait(self._running, return_when=FIRST_COMPLETED)
        try:
            return [(self._running.pop(future), future.result()) for future in futures]
        except BrokenProcessPool as error:
            hint = "perhaps the machine ran out of memory: go on with the same command and fewer processes"
            raise BayopError(wrong="a process of the sweep was killed", hint=hint) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends the processes; after an error without waiting for their trials."""
        if kind is not None:
            for process in set(active_children()) - self._strangers:
                process.terminate()
        self._pool.shutdown(cancel_futures=True)


@contextmanager
def _children_begun_whole() -> Iterator[None]:
    """Lets what ends this process wait until the processes that begin here have all that they are sent at first.

    Else they complain of half a message. They never see Ctrl-C, not even while they start: what to do is their parent's
    business. Blocking it does not do for this process, where the kernel gives it to any other thread.
    """
    arrivals: list[int] = []
    # Handlers run in the main thread, and only there can they be set.
    is_main = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in _ENDING if is_main}
    for number in handlers:
        signal.signal(number, lambda number, _: arrivals.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for arrival in arrivals:
            signal.raise_signal(arrival)


def _end_with_parent() -> None:
    """In a worker: nobody works for a parent that is gone."""
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after, args=(parent.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:
    wait_for([sentinel])
    os._exit(1)
