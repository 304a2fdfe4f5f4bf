"""How services stand, told to all viewers at once when it may have changed; worked out once, however many there are."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from bayop.daemon.services import Services
from bayop.daemon.web.feed import Feed

_REST_S: Final = 0.5
"""What an event says, the service does a moment later."""
_ROUND_S: Final = 30.0
"""What changes without an event, such as quiet hours, is looked at so often."""
STANDING: Final = "service"
"""The event's name."""


@contextmanager
def telling(services: Services, feed: Feed) -> Iterator[None]:
    """Meanwhile, viewers are told how services stand after every event of theirs."""
    threading.Thread(target=_tell, args=(services, feed), name="bayop-standings", daemon=True).start()
    try:
        yield
    finally:
        feed.close()


def _tell(services: Services, feed: Feed) -> None:
    number, rested = feed.last, threading.Event()
    while not feed.is_over:
        number, words = feed.after(number, _ROUND_S)
        names = {word.get("service") for word in words or [{}] if word.get("event") != STANDING}
        if not feed.viewers or not (names or not words):
            continue
        rested.wait(_REST_S)
        every = services.named(None)
        told = every if None in names or not words else [name for name in every if name in names]
        for standing in services.standings(told):
            feed.put(standing)
