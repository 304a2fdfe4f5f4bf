"""Programs on a core of their own, ahead of whatever else this machine runs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.background import Background
from tests.support.servers import free_port, memcached_on

_START_S: Final = 10.0


class RunError(RuntimeError):
    """A program did not do its work; the message holds what it said."""


@dataclass(frozen=True, slots=True)
class Run:
    """A program that ended.

    Attributes:
        stdout: What it printed.
        stderr: What it said beside.
    """

    stdout: str
    stderr: str


def first_on(cpu: int) -> Callable[[], None]:
    """Before a program starts: binds it to a core, and puts it first there as far as this is allowed.

    Not in a real-time class: the kernel stops a real-time process that polls for 50 ms of every second. A session is a
    scheduling group of its own with its own niceness (sched(7), "The autogroup feature"), and the program gets one:
    that of the shell would stay first for good, ahead of every server that has another.
    """

    def bind() -> None:
        if os.getsid(0) != os.getpid():
            os.setsid()
        os.sched_setaffinity(0, {cpu})
        if os.geteuid() == 0:
            os.setpriority(os.PRIO_PROCESS, 0, -20)
            group = Path("/proc/self/autogroup")
            if group.exists():
                group.write_text("-20")

    return bind


def run(words: Sequence[str], *, cpu: int, timeout_s: float, good: Sequence[int] = (0,)) -> Run:
    """Runs a program on a core to its end.

    Args:
        words: Program and arguments.
        cpu: The core.
        timeout_s: The longest that it may last.
        good: Exit codes of success.

    Raises:
        RunError: it fails or lasts too long.
    """
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=first_on(cpu),  # noqa: PLW1509 -- no thread of this process holds a lock that it needs
    )
    with process:
        try:
            stdout, stderr = process.communicate(timeout=timeout_s)
        except BaseException as error:
            process.kill()
            if isinstance(error, subprocess.TimeoutExpired):
                raise RunError(f"{words[0]} did not end within {timeout_s:g} s") from error
            raise
    if process.returncode not in good:
        raise RunError(f"{' '.join(words)} ended with {process.returncode}: {stderr.strip() or stdout.strip()}")
    return Run(stdout, stderr)


@contextmanager
def memcached(*, cpu: int, requests_per_event: int) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A memcached with one thread on a core, and its port of the loopback interface.

    Args:
        cpu: The core.
        requests_per_event: Most requests of a connection before it is another's turn, memcached's `-R`.
    """
    port = free_port()
    with memcached_on(port, "-m", "256", "-R", str(requests_per_event), before=first_on(cpu)) as server:
        yield server, port


class Answers(Background):
    """The rate at which a memcached answers, by its own count, in a part of the time that the context lasts.

    Attributes:
        per_s: GETs that found their record, per second; 0 until the part is over.
    """

    def __init__(self, port: int, *, from_s: float, to_s: float) -> None:
        super().__init__()
        self.per_s = 0.0
        self._port, self._from_s, self._to_s = port, from_s, to_s

    def _run(self) -> None:
        if self._over.wait(self._from_s):
            return
        before, start_s = _hits(self._port), time.monotonic()
        if self._over.wait(self._to_s - self._from_s):
            return
        after, end_s = _hits(self._port), time.monotonic()
        self.per_s = (after - before) / (end_s - start_s)


def _hits(port: int) -> int:
    with socket.create_connection(("127.0.0.1", port), timeout=_START_S) as connection:
        connection.sendall(b"stats\r\nquit\r\n")
        with connection.makefile("rb") as lines:
            return next(int(words[2]) for words in map(bytes.split, lines) if words[1:2] == [b"get_hits"])


class Stalls(Background):
    """Stops a process for a while in every period, and notes when it was stopped. A context."""

    def __init__(self, process: subprocess.Popen[bytes], *, stall_s: float, period_s: float) -> None:
        super().__init__()
        self._process, self._stall_s, self._period_s = process, stall_s, period_s
        self.spans_s: list[tuple[float, float]] = []
        """From when to when it was stopped, on CLOCK_MONOTONIC."""

    def _run(self) -> None:
        if os.geteuid() == 0:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # this thread; it sleeps nearly always
        due_s = time.monotonic() + self._period_s / 2
        while not self._over.wait(due_s - time.monotonic()):
            self._process.send_signal(signal.SIGSTOP)
            stopped_s = time.monotonic()
            time.sleep(self._stall_s)
            self._process.send_signal(signal.SIGCONT)
            self.spans_s.append((stopped_s, time.monotonic()))
            due_s += self._period_s
