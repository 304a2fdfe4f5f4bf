"""Files that hold secrets of BayOp's own."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Final

from bayop.errors import InputError, unreadable

_MOST_BYTES: Final = 65_536


def read_secret(path: Path) -> str:
    """What a file holds, or its beginning. Nothing of it may be told: it may be a secret.

    Raises:
        InputError: it can't be read, others may read it, or it is no regular file.
    """
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise InputError(wrong=f"cannot read {path}: it is no regular file", place=str(path))
        if mode & (stat.S_IRWXO | stat.S_IWGRP):
            hint = f"chmod 600 {path}"
            raise InputError("a token file must be closed to others", value=str(path), hint=hint)
        with path.open(encoding="utf-8") as stream:
            return stream.read(_MOST_BYTES)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
