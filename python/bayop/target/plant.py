"""What a controller steers: a server under a load that changes with time."""

from __future__ import annotations

from typing import Protocol

from bayop.measurement import Measurement
from bayop.space import Setting
from bayop.target.base import Server


class Plant(Server, Protocol):
    """A server with a clock: time is an argument, so that a day can pass in a second.

    All times are seconds since the same instant. A plant starts in its default and is put back there by `restore`.
    """

    def load_at(self, time_s: float) -> float:
        """Offered load at a time, in requests/s, as the server's own counters show it."""
        ...

    def apply(self, setting: Setting) -> Setting:
        """Applies a setting and returns what is in effect."""
        ...

    def measure(self, start_s: float, duration_s: float) -> Measurement:
        """What the window from `start_s` shows with the setting in effect; returns when the window is over."""
        ...

    def restore(self) -> None:
        """Puts the default back. May be called at any time and more than once."""
        ...
