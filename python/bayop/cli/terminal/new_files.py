"""Files that a verb writes where none may be yet.

That is so of every file of data: a profile, a study, a trace, a table. What is drawn into a folder is drawn anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bayop.errors import InputError, unwritable

_PROGRAM: Final = 0o755
_MODE: Final = 0o644
"""The agent refuses a configuration that others than its owner may write."""


def check_new(path: Path, *, place: str | None = None, hint: str | None = None) -> None:
    """Refuses, before work whose result goes there, a file that is there already.

    Raises:
        InputError: it is; `hint` says how to write elsewhere.
    """
    if path.exists():
        raise InputError("a file must not be overwritten", wrong=f"{path} is there already", place=place, hint=hint)


def create(files: Mapping[Path, str], *, hint: str | None = None) -> None:
    """Creates every file with its text, or none; a script (`#!`) can be run.

    Raises:
        InputError: one of them is there already, or can't be written; `hint` says how to write elsewhere.
    """
    for path in files:
        check_new(path, hint=hint)
    paths: list[Path] = []
    for path, text in files.items():
        try:
            with path.open("x", encoding="utf-8") as file:
                paths.append(path)
                file.write(text)
            path.chmod(_PROGRAM if text.startswith("#!") else _MODE)
        except OSError as error:
            for half in paths:
                half.unlink()
            raise unwritable(path, error) from error
