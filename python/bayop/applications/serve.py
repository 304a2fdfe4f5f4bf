"""Starts an application: its files in a folder of its own, as nobody where root starts it, until it listens."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Collection
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import IO, Final, Self

from bayop.applications.definition import Application
from bayop.applications.packages import require_program
from bayop.errors import BayopError, InputError, UnsupportedError, reason
from bayop.program import end_supervised, start_supervised

ADDRESS: Final = "127.0.0.1"
"""Where a `Service` listens: nobody but this machine reaches what has no password."""

START_S: Final = 10.0
"""How long an application may take until it listens."""

_POLL_S: Final = 0.02
_AS_NOBODY: Final = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")


def prepare(application: Application, *, address: str, folder: Path) -> list[str]:
    """Writes its files to its folder, and returns the command that starts it, as nobody where root does.

    The process dies with the one that starts it (prctl(2), PR_SET_PDEATHSIG). The kernel forgets who is to die with
    whom when the user changes (commit_creds), so that is said afterwards.

    Args:
        application: What is to be started.
        address: Where it is to listen.
        folder: An empty folder, which becomes its own.

    Raises:
        UnsupportedError: its program is not there.
    """
    application.write_files(address=address, folder=folder)
    user: tuple[str, ...] = ("setpriv",)
    if os.geteuid() == 0:
        user = _AS_NOBODY
        for path in (folder, *folder.iterdir()):
            shutil.chown(path, "nobody", "nogroup")
    _, *arguments = application.command(address=address, folder=folder)
    return [*user, "--pdeathsig=KILL", require_program(application), *arguments]


def await_listening(
    process: subprocess.Popen[bytes], is_listening: Callable[[], bool], refusal: Callable[[], BayopError]
) -> None:
    """Waits until an application listens.

    Args:
        process: It, or what stands and falls with it.
        is_listening: Whether somebody answers where it is to listen.
        refusal: What to raise when it has ended, or does not listen for too long.
    """
    ends = time.monotonic() + START_S
    while not is_listening():
        if time.monotonic() > ends or process.poll() is not None:
            raise refusal()
        time.sleep(_POLL_S)


class Service:
    """An application that listens on the loopback interface, from `with` to its end.

    Every process that it has started ends with it, in a session of its own too, and so does its folder; when this
    process is killed, the folder stays.

    Args:
        application: What is served.
        said: Where it says what it says.
        cpus: The CPUs that it may run on; None for all.

    Raises:
        InputError: its port is taken.
        UnsupportedError: it is not installed, can't be run, or does not listen.
    """

    def __init__(self, application: Application, *, said: IO[bytes] | int, cpus: Collection[int] | None = None) -> None:
        self.application, self._said = application, said
        self._pinned = ["taskset", "--cpu-list", ",".join(map(str, cpus))] if cpus else []
        self._stack = ExitStack()

    @property
    def address(self) -> str:
        """Host and port."""
        return f"{ADDRESS}:{self.application.port}"

    def __enter__(self) -> Self:
        application = self.application
        require_program(application)
        if self._is_listening():
            raise InputError(
                f"the port of {application.name} must be free",
                wrong=f"something listens on {self.address}",
                place="--port",
                hint="--port takes another one",
            )
        try:
            folder = Path(self._stack.enter_context(TemporaryDirectory(prefix="bayop-app-")))
            words = prepare(application, address=ADDRESS, folder=folder)
            self._supervisor, report = start_supervised([*self._pinned, *words], (self._said, self._said))
            self._report = self._stack.enter_context(report)
            self._stack.callback(end_supervised, self._supervisor)
            await_listening(self._supervisor, self._is_listening, self._refusal)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def wait(self) -> BayopError:
        """Waits until it ends by itself, which may be for ever.

        Returns:
            What has become of it.
        """
        self._supervisor.wait()
        return BayopError(wrong=f"{self.application.name} {self._outcome()}")

    def _is_listening(self) -> bool:
        try:
            socket.create_connection((ADDRESS, self.application.port), timeout=START_S).close()
        except OSError:
            return False
        return True

    def _refusal(self) -> BayopError:
        if self._supervisor.poll() is None:
            return UnsupportedError(wrong=f"{self.application.name} does not listen on {self.address}")
        return UnsupportedError(wrong=f"{self.application.name} {self._outcome()} before it listened on {self.address}")

    def _outcome(self) -> str:
        kind, _, number = self._report.read().partition(" ")
        if kind == "start":
            return f"did not start ({reason(OSError(int(number), ''))})"
        if kind != "exit":
            return "was ended"
        return f"ended with exit code {number}" if int(number) >= 0 else f"was ended by signal {-int(number)}"
