"""An application of BayOp's in the lab's server: what has to be brought there, and how it runs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from bayop.applications.definition import Application
from bayop.applications.packages import require_program
from bayop.applications.scope import cpu_s_of
from bayop.errors import UnsupportedError
from lab import Files, Machine, packages
from lab.errors import CommandError

PORT: Final = 7000
"""Where it listens there, whatever its own port is: the lab has a memcached of its own."""

_FOLDER: Final = Path("/srv/application")
_GROUP: Final = "/sys/fs/cgroup/application"
_LOG: Final = "/var/log/application.log"
_POLLS_PER_S: Final = 10


class GuestApplication:
    """An application that is one program with its shared libraries and the files of its definition.

    Args:
        application: Its definition.

    Raises:
        UnsupportedError: it needs more than that, or its program is not there.
    """

    def __init__(self, application: Application) -> None:
        lacking = needs_more(application)
        if lacking is not None:
            raise UnsupportedError(wrong=f"the lab can't serve {application.name}: {lacking}", value=application.name)
        self.application = replace(application, port=PORT)
        self._program = _program(application)

    def add_to(self, files: Files) -> None:
        """Adds it to what a boot brings along."""
        files.add_program(f"/usr/bin/{self._program.name}", self._program)
        files.folders.append(str(_FOLDER))
        for name, content in self.application.files.items():
            files.add(str(_FOLDER / name), self._filled([content])[0])

    def start(self, machine: Machine) -> int:
        """Starts it, as nobody and in a control group of its own, and returns once it listens.

        Returns:
            The port of 127.0.0.1 that leads to it.

        Raises:
            UnsupportedError: it does not listen, with the last that it has said.
        """
        _, *arguments = self._filled(self.application.start)
        command = shlex.quote(f"exec {shlex.join([self._program.name, *arguments])}")
        inside = f"echo 0 >{_GROUP}/cgroup.procs; exec su nobody -s /bin/sh -c {command}"
        machine.run(f"mkdir {_GROUP} && chown -R nobody:nogroup {_FOLDER}")
        machine.run(f"(cd {_FOLDER}; {inside}) >{_LOG} 2>&1 </dev/null &")
        within_s = self.application.ready_within_s
        looks = f"for i in $(seq {within_s * _POLLS_PER_S:.0f})"
        look = f"netstat -ltn | grep -q ':{PORT} ' && exit; usleep {1e6 / _POLLS_PER_S:.0f}"
        try:
            machine.run(f"{looks}; do {look}; done; tail -n 1 {_LOG} >&2; exit 1", timeout_s=3 * within_s)
        except CommandError as error:
            wrong = f"{self.application.name} does not listen in the lab"
            raise UnsupportedError(wrong=wrong, hint=error.wrong) from error
        return machine.forward(PORT)

    def _filled(self, words: Sequence[str]) -> list[str]:
        nowhere = Path("/nonexistent")  # nothing that `needs_more` lets pass asks for it
        return self.application.filled(words, address="0.0.0.0", folder=_FOLDER, cache=nowhere, packages=nowhere)  # noqa: S104 -- in the guest


def cpu_s(machine: Machine) -> float:
    """Processor time that the application has taken in the guest, with all that it has started, in s."""
    return cpu_s_of(machine.read(f"{_GROUP}/cpu.stat"))


def needs_more(application: Application) -> str | None:
    """What an application needs beside its program, its libraries and its files; None for nothing."""
    if application.prepare:
        return "it has to be prepared, with the host's programs"
    if application.brings is not None:
        return f"it needs {application.brings}"
    if application.ready:
        return f"{application.ready[0]} has to tell whether it serves"
    if set(application.packages) - {"apt"}:
        return "it needs packages of another registry than Debian's"
    return None


def _program(application: Application) -> Path:
    """The guest's own package where there is one; else the host's."""
    try:
        return packages.program(application.start[0])
    except UnsupportedError:
        return Path(require_program(application))
