"""Telling systemd how we are: a datagram to the socket that it names (sd_notify(3)); nobody else has to be there."""

from __future__ import annotations

import socket
from contextlib import suppress


class Notifier:
    """Sends states such as `READY=1`, and nothing where no service manager listens.

    Args:
        address: `$NOTIFY_SOCKET`: a path, or a name that begins with `@` (an abstract socket); None for nobody.
        watchdog_s: How often the service manager wants to hear of us, in s; None for never.
    """

    def __init__(self, address: str | None, watchdog_s: float | None = None) -> None:
        self._address = address and (f"\0{address[1:]}" if address.startswith("@") else address)
        self.watchdog_s = watchdog_s

    def send(self, state: str) -> None:
        """Says it once. A service manager that does not listen any more is no trouble of ours."""
        if self._address:
            with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.settimeout(0.0)
                sender.sendto(state.encode(), self._address)
