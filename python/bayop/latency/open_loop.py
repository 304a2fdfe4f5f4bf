"""BayOp's own light open-loop probe, `bayop probe`, as a source of latency.

Some hundred requests a second beside the service's own see what clients see: the wire, the wait before the interrupt,
the queues. They are sent at the times of a Poisson process, whatever the server does, so that they meet the server as
a random client would (Poisson arrivals see time averages). It belongs on another host than the server::

    --latency 'probe:memcached://server:11211'                        from here
    --latency 'probe:ssh client bayop probe memcached://server'       from a client's host

Its requests are not the service's load: give that with `--load`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Final

from bayop.errors import InputError
from bayop.latency.base import Latency, Window
from bayop.latency.probe_program import measure_with
from bayop.program import split_command
from bayop.slo import Slo
from bayop.units import parse_quantity

PREFIX: Final = "probe:"
"""What such a source begins with in `--latency`."""


QPS: Final = 200.0
"""Requests/s of a probe that is not told otherwise."""

BEYOND: Final = 10
"""A quantile is known when so many requests lie beyond it."""

_SPARE: Final = 1.2
"""So much longer than they take on average: a Poisson process is early or late."""


class OpenLoopProbe:
    """Runs the probe for every window.

    Args:
        text: The arguments of `bayop probe`, to run it here; or a command that runs it elsewhere.
        slo: What the latency is for.

    Attributes:
        url: The server, where it is probed from here.

    Raises:
        InputError: there is nothing in it.
    """

    def __init__(self, text: str, *, slo: Slo) -> None:
        words = split_command(text)
        self._slo = slo
        self.url = words[0] if "://" in words[0] else None
        self._words = [sys.executable, "-m", "bayop", "probe", *words] if self.url else words

    @property
    def least_window_s(self) -> float:
        """How long the probe takes until enough requests lie beyond the SLO's quantile."""
        return math.ceil(round(_SPARE * BEYOND / (1.0 - self._slo.quantile) / self._qps, 6))

    @property
    def _qps(self) -> float:
        said = dict(zip(self._words, self._words[1:], strict=False)).get("--qps")
        try:
            return QPS if said is None else parse_quantity(said, "qps")
        except InputError:
            return QPS  # The probe itself says what is wrong with it.

    def measure(self, window: Window, *, sleep: Callable[[float], None]) -> Latency:
        """What the probe's requests have seen.

        Raises:
            InputError: the probe can't be run, the server can't be reached or loses requests, or there were too few.
        """
        seen = measure_with(
            [*self._words, "--window", f"{window.duration_s:g}s", "--json"],
            name="open-loop probe",
            duration_s=window.duration_s,
            sleep=sleep,
            hint=self._hint,
        )
        if self._slo.quantity not in seen.quantities and not window.is_look:
            raise InputError(
                wrong=f"a window of {window.duration_s:g} s had too few requests for {self._slo.quantity}",
                place="open-loop probe",
                hint=self._hint,
            )
        return seen

    @property
    def _hint(self) -> str:
        return f"take windows of {self.least_window_s:g}s or longer, or let the probe send more requests"
