"""A control group of a service's own: what it takes is counted there, whatever it starts, and what has ended too.

Control groups of version 2 (Linux kernel, Documentation/admin-guide/cgroup-v2.rst), `bayop/NAME-PID-NUMBER` below
their mount. A group is that of who holds a lock on its folder (flock(2)), so that one whose maker was killed is known
by that, and goes when the next is made. Only root can open the folders, and so lock them; what is in them all can read.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

_MOUNTS: Final = Path("/proc/self/mounts")
_ALL: Final = "bayop"
_NUMBERS: Final = count()
_END_S: Final = 5.0
_POLL_S: Final = 0.01
_FOLDER_MODE: Final = 0o711


@dataclass(frozen=True, slots=True)
class Scope:
    """A control group.

    Attributes:
        path: Its folder.
    """

    path: Path

    def command(self, words: Sequence[str]) -> list[str]:
        """The command that runs `words`, and whatever they start, in it; for root."""
        return ["sh", "-c", 'echo 0 >"$0" && exec "$@"', str(self.path / "cgroup.procs"), *words]

    def cpu_s(self) -> float:
        """Processor time that was taken in it until now, in s.

        Raises:
            OSError: it is gone.
        """
        return cpu_s_of((self.path / "cpu.stat").read_text(encoding="ascii"))

    def is_populated(self) -> bool:
        """Whether a process is in it; not where it is gone."""
        try:
            return _number((self.path / "cgroup.events").read_text(encoding="ascii"), "populated") > 0
        except OSError:
            return False

    def _remove(self) -> None:
        """Ends what is in it, and removes it; what does not end leaves it to the next that is made."""
        with suppress(OSError):
            (self.path / "cgroup.kill").write_text("1", encoding="ascii")
        ends = time.monotonic() + _END_S
        while self.is_populated() and time.monotonic() < ends:
            time.sleep(_POLL_S)
        with suppress(OSError):
            self.path.rmdir()


def cpu_s_of(cpu_stat: str) -> float:
    """Processor time by what a control group's `cpu.stat` says, in s."""
    return _number(cpu_stat, "usage_usec") / 1e6


def _number(text: str, name: str) -> int:
    return next(int(value) for key, _, value in (line.partition(" ") for line in text.splitlines()) if key == name)


@contextmanager
def scope_of(name: str) -> Iterator[Scope | None]:
    """A control group for a service, removed at the end with whatever is left in it.

    Args:
        name: What is in it.

    Returns:
        It; None where version 2 is not mounted, or this user may make none.
    """
    root = cgroup_root()
    made = None if root is None or os.geteuid() != 0 else _made(root, name)
    if root is None or made is None:
        yield None
        return
    scope, held = made
    try:
        yield scope
    finally:
        scope._remove()  # noqa: SLF001 -- of this module
        os.close(held)
        with suppress(OSError), _all_locked(root) as folder:
            folder.rmdir()


def cgroup_root() -> Path | None:
    """Where control groups of version 2 are mounted; None where they are not."""
    for line in _MOUNTS.read_text(encoding="utf-8").splitlines():
        _, folder, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(folder)
    return None


def _made(root: Path, name: str) -> tuple[Scope, int] | None:
    """A new group and the descriptor that holds its lock; None where none can be made."""
    try:
        # One at a time: a group that is made is not held yet, and would be taken for one that was left.
        with _all_locked(root) as folder:
            for left in folder.iterdir():
                _clean(left)
            # Of the controllers memory has to be asked for; the time of processors is counted without one.
            if "memory" in (folder / "cgroup.controllers").read_text(encoding="ascii").split():
                (folder / "cgroup.subtree_control").write_text("+memory", encoding="ascii")
            path = folder / f"{name}-{os.getpid()}-{next(_NUMBERS)}"
            path.mkdir(mode=_FOLDER_MODE)
            return Scope(path), _lock(path)
    except OSError:
        return None


def _clean(path: Path) -> None:
    """Removes a group whose maker is gone."""
    if not path.is_dir():
        return
    with suppress(OSError):
        os.close(_lock(path))
        Scope(path)._remove()  # noqa: SLF001 -- of this module


def _lock(path: Path) -> int:
    """A descriptor that holds the lock of a folder.

    Raises:
        OSError: somebody has it.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


@contextmanager
def _all_locked(root: Path) -> Iterator[Path]:
    """The folder of all groups, made where it is not there, while nobody else makes or removes any.

    Raises:
        OSError: it can't be made, or somebody else holds it for long.
    """
    folder, ends = root / _ALL, time.monotonic() + _END_S
    while True:
        folder.mkdir(mode=_FOLDER_MODE, exist_ok=True)
        try:
            descriptor = _lock(folder)
        except OSError:
            if time.monotonic() > ends:
                raise
            time.sleep(_POLL_S)
            continue
        with ExitStack() as stack:
            stack.callback(os.close, descriptor)
            # Whoever held it before may have removed it.
            if folder.exists() and os.path.samestat(os.fstat(descriptor), folder.stat()):
                yield folder
                return
