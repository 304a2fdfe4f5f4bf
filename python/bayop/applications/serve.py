"""Starts an application: its files in a folder of its own, as nobody where root starts it, until it listens."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import IO, Final, Self

from bayop.applications.cache import cache_folder, new_cache, packages_folder
from bayop.applications.definition import Application
from bayop.applications.packages import require_program
from bayop.applications.scope import Scope, scope_of
from bayop.errors import BayopError, InputError, UnsupportedError, reason
from bayop.program import end_supervised, run_within, start_supervised

ADDRESS: Final = "127.0.0.1"
"""Where a `Service` listens: nobody but this machine reaches what has no password."""

_CONNECT_S: Final = 10.0
_LOOK_S: Final = 2.0
_POLL_S: Final = 0.02
_NOBODY: Final = ("nobody", "nogroup")
_AS_NOBODY: Final = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")


@dataclass(frozen=True, slots=True)
class Commands:
    """What starts an application, and what tells that it serves.

    Attributes:
        start: The command that starts it.
        ready: The one that ends well once it serves; none where it does as soon as it listens.
    """

    start: Sequence[str]
    ready: Sequence[str]


def prepare(application: Application, *, address: str, folder: Path) -> Commands:
    """Writes its files to its folder, prepares what it needs once, and returns its commands.

    Where root does this, it is nobody that prepares and starts.

    The process dies with the one that starts it (prctl(2), PR_SET_PDEATHSIG). The kernel forgets who is to die with
    whom when the user changes (commit_creds), so that is said afterwards.

    Args:
        application: What is to be started.
        address: Where it is to listen.
        folder: An empty folder, which becomes its own.

    Raises:
        UnsupportedError: its program is not there, or it can't be prepared.
    """
    program, cache = require_program(application), cache_folder(application)
    packages = packages_folder(application)

    def filled(words: Sequence[str], cache: Path = cache) -> list[str]:
        return application.filled(words, address=address, folder=folder, cache=cache, packages=packages)

    for name, content in application.files.items():
        (folder / name).write_text(filled([content])[0], encoding="utf-8")
    user = ["setpriv", "--pdeathsig=KILL"]
    if os.geteuid() == 0:
        user = [*_AS_NOBODY, "--pdeathsig=KILL"]
        for path in (folder, *folder.iterdir()):
            shutil.chown(path, *_NOBODY)
    if application.prepare and not cache.exists():
        with new_cache(cache) as filling:
            if os.geteuid() == 0:
                shutil.chown(filling, *_NOBODY)
            _run_once(application.name, [*user, *filled(application.prepare, filling)])
    _, *arguments = filled(application.start)
    ready = filled(application.ready)
    return Commands([*user, program, *arguments], [*user, *ready] if ready else ())


def _run_once(name: str, words: Sequence[str]) -> None:
    sys.stderr.write(f"{name} is prepared for its first start\n")
    run = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # noqa: S603 -- the definition's
    if run.returncode != 0:
        said = run.stderr.strip().splitlines()
        wrong = f"{name} can't be prepared: what prepares it ended with exit code {run.returncode}"
        raise UnsupportedError(wrong=wrong, hint=said[-1] if said else None)


def await_ready(
    process: subprocess.Popen[bytes],
    is_listening: Callable[[], bool],
    ready: Sequence[str],
    *,
    within_s: float,
    refusal: Callable[[str, str | None], BayopError],
) -> None:
    """Waits until an application listens, and then until it says that it serves.

    Args:
        process: It, or what stands and falls with it.
        is_listening: Whether somebody answers where it is to listen.
        ready: The command that ends well once it serves; none where it does as soon as it listens.
        within_s: How long it may take.
        refusal: What to raise when it has ended, or took too long, told what it does not do, such as `listen`, and what
            the command for `ready` has said of it last.
    """
    ends = time.monotonic() + within_s
    late = InputError(wrong=f"it takes more than {_LOOK_S:g} s")
    said: str | None = None

    def serves() -> bool:
        nonlocal said
        try:
            run_within(_LOOK_S, ready, environment={}, sleep=time.sleep, late=late, place="ready")
        except InputError as error:
            said = f"ready: {error.hint or error.message}"
            return False
        return True

    def wait(is_so: Callable[[], bool], what: str) -> None:
        while not is_so():
            if time.monotonic() > ends or process.poll() is not None:
                raise refusal(what, said)
            time.sleep(_POLL_S)

    wait(is_listening, "listen")
    if ready:
        wait(serves, "serve")


class Service:
    """An application that listens on the loopback interface, from `with` to its end.

    Every process that it has started ends with it, in a session of its own too, and so do its folder and its control
    group; when this process is killed, the folder stays, and the group until another is made.

    Args:
        application: What is served.
        said: Where it says what it says.
        cpus: The CPUs that it may run on; None for all.

    Attributes:
        scope: Its control group, once it is open; None where it has none.

    Raises:
        InputError: its port is taken.
        UnsupportedError: it is not installed, can't be run, or does not listen.
    """

    def __init__(self, application: Application, *, said: IO[bytes] | int, cpus: Collection[int] | None = None) -> None:
        self.application, self._said = application, said
        self._pinned = ["taskset", "--cpu-list", ",".join(map(str, cpus))] if cpus else []
        self.scope: Scope | None = None
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
                parameter="port",
                hint="take another one",
            )
        try:
            folder = Path(self._stack.enter_context(TemporaryDirectory(prefix="bayop-app-")))
            commands = prepare(application, address=ADDRESS, folder=folder)
            self.scope = self._stack.enter_context(scope_of(application.name))
            words = [*self._pinned, *commands.start]
            if self.scope is not None:
                words = self.scope.command(words)
            self._supervisor, report = start_supervised(words, (self._said, self._said))
            self._report = self._stack.enter_context(report)
            self._stack.callback(end_supervised, self._supervisor)
            await_ready(
                self._supervisor,
                self._is_listening,
                commands.ready,
                within_s=application.ready_within_s,
                refusal=self._refusal,
            )
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
            socket.create_connection((ADDRESS, self.application.port), timeout=_CONNECT_S).close()
        except OSError:
            return False
        return True

    def _refusal(self, what: str, said: str | None) -> BayopError:
        if self._supervisor.poll() is None:
            return UnsupportedError(wrong=f"{self.application.name} does not {what} on {self.address}", hint=said)
        wrong = f"{self.application.name} {self._outcome()} before it {what.removesuffix('e')}ed on {self.address}"
        return UnsupportedError(wrong=wrong)

    def _outcome(self) -> str:
        kind, _, number = self._report.read().partition(" ")
        if kind == "start":
            return f"did not start ({reason(OSError(int(number), ''))})"
        if kind != "exit":
            return "was ended"
        return f"ended with exit code {number}" if int(number) >= 0 else f"was ended by signal {-int(number)}"
