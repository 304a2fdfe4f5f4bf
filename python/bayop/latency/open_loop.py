"""BayOp's own light open-loop probe, `bayop probe`, as a source of latency.

Some hundred requests a second beside the service's own see what clients see: the wire, the wait before the interrupt,
the queues. They are sent at the times of a Poisson process, whatever the server does, so that they meet the server as
a random client would (Poisson arrivals see time averages). It belongs on another host than the server::

    --latency 'probe:memcached://server:11211'                        from here
    --latency 'probe:ssh client bayop probe memcached://server'       from a client's host

Its requests are not the service's load: give that with `--load`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

from bayop.latency.base import Latency, Window
from bayop.latency.probe_program import measure_with
from bayop.latency.program import split_command

PREFIX: Final = "probe:"
"""What such a source begins with in `--latency`."""


class OpenLoopProbe:
    """Runs the probe for every window.

    Args:
        text: The arguments of `bayop probe`, to run it here; or a command that runs it elsewhere.

    Raises:
        InputError: there is nothing in it.
    """

    def __init__(self, text: str) -> None:
        words = split_command(text)
        self._words = [sys.executable, "-m", "bayop", "probe", *words] if "://" in words[0] else words

    def measure(self, window: Window, *, sleep: Callable[[float], None]) -> Latency:
        """What the probe's requests have seen.

        Raises:
            InputError: the probe can't be run, the server can't be reached or loses requests, or there were too few.
        """
        return measure_with(
            [*self._words, "--window", f"{window.duration_s:g}s", "--json"],
            name="open-loop probe",
            duration_s=window.duration_s,
            sleep=sleep,
            hint="a longer window, or --qps",
        )
