"""The bodies of HTTP requests, from files."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bayop.errors import InputError, unreadable
from bayop.files import open_regular

_MOST_BYTES: Final = 16 * 2**20
"""Most that all bodies may have together: they are held in memory, and sent to every peer with the plan."""


def read_bodies(path: Path) -> tuple[bytes, ...]:
    """The content of a file, or of every file of a folder in the order of their names.

    Raises:
        InputError: something can't be read or is no regular file, the folder has no file, or there is more than 16 MiB.
    """
    bodies: list[bytes] = []
    room = _MOST_BYTES
    for file in _files(path):
        try:
            with open_regular(file) as stream:
                body = stream.read(room + 1)
        except OSError as error:
            raise unreadable(file, error) from error
        room -= len(body)
        if room < 0:
            raise InputError("bodies must have at most 16 MiB in all", value=str(path))
        bodies.append(body)
    return tuple(bodies)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    try:
        files = sorted(file for file in path.iterdir() if file.is_file())
    except OSError as error:
        raise unreadable(path, error) from error
    if not files:
        raise InputError("a folder of bodies must have a file", value=str(path))
    return files
