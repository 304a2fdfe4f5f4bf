"""Waiting for what another process does, for no longer than it may take."""

from __future__ import annotations

import time
from collections.abc import Callable

_LOOK_AGAIN_S = 0.05


def eventually(is_so: Callable[[], bool], *, within_s: float) -> bool:
    """Whether something is so at once or becomes so within some seconds."""
    ends = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > ends:
            return False
        time.sleep(_LOOK_AGAIN_S)
    return True
