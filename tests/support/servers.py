"""Real servers of Debian on ports of their own of the loopback interface, and `bayop load` beside them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from tests.support.needs import need, program

LOAD = [sys.executable, "-m", "bayop", "load"]


def free_port() -> int:
    """A TCP port of the loopback interface that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def load(*arguments: str, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
    """Runs `bayop load` with these arguments to its end."""
    environment = os.environ | {"COLUMNS": "100"}
    return subprocess.run(
        [*LOAD, *arguments], capture_output=True, text=True, timeout=timeout_s, check=False, env=environment
    )


def result_of(run: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The last event of a run with `--json`."""
    if not run.stdout:
        raise AssertionError(run.stderr)
    event: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return event


@contextmanager
def serving(
    command: Sequence[str], port: int, *, before: Callable[[], None] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A server while it runs, in a session of its own; skips when it is not installed.

    Args:
        command: Program and arguments.
        port: Where it listens on the loopback interface.
        before: Called in its process before it starts.
    """
    need(command[0])
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        [str(program(command[0])), *command[1:]],
        stdout=quiet,
        stderr=quiet,
        start_new_session=True,
        preexec_fn=before,  # noqa: PLW1509 -- no thread of this process holds a lock that it needs
    ) as server:
        try:
            _await_port(port)
            yield server
        finally:
            if server.poll() is None:
                server.send_signal(signal.SIGCONT)
                server.kill()


def _await_port(port: int) -> None:
    deadline_s = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.02)
        else:
            return


def memcached_on(
    port: int, *more: str, before: Callable[[], None] | None = None
) -> AbstractContextManager[subprocess.Popen[bytes]]:
    """A memcached of one thread while it runs, with more flags, and `before` as `serving` has it."""
    user = ["-u", "root"] if os.geteuid() == 0 else []
    words = ["memcached", *user, "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-t", "1", *more]
    return serving(words, port, before=before)


@contextmanager
def scripted(answer: str) -> Iterator[str]:
    """`bayop.testing.scripted_server` with this answer: bytes in hex, `echo`, or nothing."""
    port = free_port()
    with serving([sys.executable, "-m", "bayop.testing.scripted_server", str(port), answer], port):
        yield f"127.0.0.1:{port}"
