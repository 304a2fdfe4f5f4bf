"""Files that a verb writes where none may be yet.

That is so of every file of data: a profile, a study, a trace, a table. What is drawn into a folder is drawn anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import IO, Final

from bayop.errors import InputError, unwritable
from bayop.files import check_writable, write_whole

CONFIGURATION: Final = 0o644
"""The agent refuses one that others than its owner may write."""
_PROGRAM: Final = 0o755


def check_new(path: Path, *, place: str | None = None, hint: str | None = None) -> None:
    """Refuses, before work whose result goes there, a file or folder that is there already.

    What else may be there, such as a pipe or /dev/null, loses nothing.

    Raises:
        InputError: it is; `hint` says how to write elsewhere.
    """
    if path.is_file() or path.is_dir():
        raise InputError("a file must not be overwritten", wrong=f"{path} is there already", place=place, hint=hint)


def check_out(out: Path) -> None:
    """Refuses, before work whose result `--out` names, a file that is there already or could not be written.

    Raises:
        InputError: with `--out` as the place.
    """
    check_writable(out, place="--out")
    check_new(out, place="--out", hint="--out FILE for another")


def create(files: Mapping[Path, str], *, mode: int | None = None, hint: str | None = None) -> None:
    """Creates every file with its text, or none; a script (`#!`) can be run.

    Args:
        files: The texts.
        mode: Who may read and write the files; None for what the umask says.
        hint: How to write elsewhere.

    Raises:
        InputError: one of them is there already, or can't be written.
    """
    for path in files:
        check_new(path, hint=hint)
    created: list[Path] = []
    try:
        for path, text in files.items():
            if path.exists():
                _write_into(path, text)
                continue
            write_whole(path, partial(_write, text), mode=_PROGRAM if text.startswith("#!") else mode)
            created.append(path)
    except InputError:
        for path in created:
            path.unlink()
        raise


def _write_into(path: Path, text: str) -> None:
    """Gives a pipe or a device the text."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise unwritable(path, error) from error


def _write(text: str, file: IO[bytes]) -> None:
    file.write(text.encode())
