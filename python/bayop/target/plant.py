"""What a controller steers: a server under a load that changes with time."""

from __future__ import annotations

from typing import Protocol

from bayop.measurement import Measurement
from bayop.target.base import Settable


class Plant(Settable, Protocol):
    """A server with a clock: time is an argument, so that a day can pass in a second.

    All times are seconds since the same instant. A plant starts in its default and is put back there by `restore`.
    """

    def load_at(self, time_s: float) -> float:
        """Offered load at a time, in requests/s, as the server's own counters show it."""
        ...

    def measure(self, start_s: float, duration_s: float) -> Measurement:
        """What the window from `start_s` shows with the setting in effect; returns when the window is over."""
        ...
