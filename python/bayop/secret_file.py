"""Files that hold secrets of BayOp's own."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Final

from bayop.errors import InputError, unreadable

_LONGEST: Final = 65_536


def read_secret(path: Path) -> str:
    """What a file holds. Nothing of it may be told: it may be a secret.

    Raises:
        InputError: it can't be read, others may read it, it is no regular file, or too long.
    """
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise InputError(wrong=f"cannot read {path}: it is no regular file", place=str(path))
        if mode & (stat.S_IRWXO | stat.S_IWGRP):
            hint = f"chmod 600 {path}"
            raise InputError("a token file must be closed to others", value=str(path), hint=hint)
        with path.open(encoding="utf-8") as stream:
            text = stream.read(_LONGEST + 1)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    if len(text) > _LONGEST:  # a token that is cut is another token
        raise InputError(f"a token file must have at most {_LONGEST} characters", value=str(path))
    return text
