"""A limit for all of something that waits for somebody else, however often it waits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def within(limit_s: float, work: Callable[[], T]) -> T:
    """What `work` returns, if it does so in time.

    The time limit of a socket begins anew with every byte, and a name's resolution has none: whoever drips, or says
    "100 Continue" for ever, is waited for without end. So the work is done in a thread, which is left behind when time
    is over, and ends at the latest with the process.

    Args:
        limit_s: How long it may take from beginning to end.
        work: What waits.

    Raises:
        TimeoutError: it takes longer.
    """
    returned: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            returned.append(work())
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, name="bayop-within", daemon=True)
    thread.start()
    thread.join(limit_s)
    if raised:
        raise raised[0]
    if not returned:
        raise TimeoutError(f"timed out after {limit_s:.2g} s")
    return returned[0]
