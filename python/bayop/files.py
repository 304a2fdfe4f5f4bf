"""Files: what is read of them no pipe holds up; results are written whole or not at all, or to a folder."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from bayop.errors import InputError, unreadable, unwritable

_MOST_BYTES: Final = 16 * 2**20
"""Of a text that somebody wrote by hand, or a program for people."""


def open_regular(path: Path) -> IO[bytes]:
    """A file to be read, which is one: opening a pipe waits for whoever writes there, and a device may never end.

    Raises:
        InputError: it can't be read, or is no regular file.
    """
    try:
        _check_regular(path.stat(), path)  # before it is opened, which some devices take for an order
        # In between it may have become a pipe.
        file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115
        try:
            _check_regular(os.fstat(file.fileno()), path)
        except InputError:
            file.close()
            raise
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    return file


def read_text(path: Path, *, encoding: str = "utf-8") -> str:
    """The text of a regular file of at most 16 MiB; all its lines end alike, as Python reads text.

    Raises:
        InputError: it can't be read, is no regular file or no text, or is longer.
    """
    with open_regular(path) as file:
        try:
            content = file.read(_MOST_BYTES + 1)
            if len(content) > _MOST_BYTES:
                wrong = f"cannot read {path}: it has more than {_MOST_BYTES >> 20} MiB"
                raise InputError(wrong=wrong, place=str(path))
            return content.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
        except (OSError, UnicodeDecodeError) as error:
            raise unreadable(path, error) from error


def _check_regular(status: os.stat_result, path: Path) -> None:
    """Refuses what is neither a file nor a folder, which the system itself refuses to read."""
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise InputError(wrong=f"cannot read {path}: it is no regular file", place=str(path))


def write_whole(
    path: Path,
    write: Callable[[IO[bytes]], object],
    *,
    mode: int | None = None,
    failures: tuple[type[Exception], ...] = (),
) -> None:
    """Writes beside the file, then puts it in its place: readers see the old one or the new one, also after a crash.

    Without fsync before it is renamed, a file that a crash of the machine interrupts may have its name and no content;
    without that of the folder, it may be the old one although its writer went on.

    Args:
        path: The file.
        write: Writes the content to the file that it is given.
        mode: Who may read and write the file; None for what the umask says.
        failures: What `write` raises, beside OSError and ValueError, when the disk does not take the content.

    Raises:
        InputError: the file can't be written.
    """
    expected: tuple[type[Exception], ...] = (OSError, ValueError, *failures)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with beside.open("w+b") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            write(file)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        sync_folder(path.parent)
    except expected as error:
        raise unwritable(path, error) from error
    finally:
        with suppress(OSError, ValueError):  # it was moved, or never made: another error says why
            beside.unlink()


def sync_folder(folder: Path) -> None:
    """Has the folder's own entries on disk: the names of files that were made or replaced."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Makes the folder that results will be written into.

    Raises:
        InputError: it can't be made, or not be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise _denied()
    except OSError as error:
        raise unwritable(folder, error) from error


def check_writable(path: Path, *, place: str | None = None) -> None:
    """Refuses, before work whose result goes there, a file that could not be written in the end. Writes nothing.

    Raises:
        InputError: it is a folder, there is no folder for it, or neither may be written.
    """
    try:
        if path.is_dir() or not path.parent.is_dir():
            why = "it is a folder" if path.is_dir() else f"there is no folder {path.parent}"
            raise InputError(wrong=f"cannot write {path}: {why}", place=place or str(path))
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise _denied()
    except OSError as error:  # a name may be too long to be asked about
        raise unwritable(path, error, place=place) from error


def _denied() -> PermissionError:
    return PermissionError(errno.EACCES, os.strerror(errno.EACCES))
