"""The folder that a report goes into."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from bayop.errors import unwritable


def make_folder(folder: Path) -> None:
    """Makes the folder that a report will be written into.

    Raises:
        InputError: it can't be made, or not be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise unwritable(folder, error, place="--out") from error
