"""The eBPF probe on the server, `bayop-probe`, as a source of latency.

It needs nobody's help and costs half a microsecond a request, but it can't see a packet wait for its interrupt. So it
is run with that wait added: measured (`--wait DEVICE`), or modelled from the delay that a trial has set. For the
default, whose delay no setting names, the command says it::

    --latency 'ebpf:ssh root@server bayop-probe --port 11211 --rx-usecs 3 --queues 16'

Every window runs the command once, with the window's length and the setting's delay behind its own arguments.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from bayop.errors import InputError
from bayop.latency.base import Latency, Vantage, Window, check_vantage
from bayop.latency.program import GRACE_S, run_program, split_command
from bayop.slo import quantile_of
from bayop.space import Setting

PREFIX: Final = "ebpf:"
"""What such a source begins with in `--latency`."""

DELAY_FLAGS: Final = MappingProxyType(
    {
        "nic.rx_usecs": "--rx-usecs",
        "napi.gro_flush_timeout_us": "--gro-flush-timeout-us",
        "napi.defer_hard_irqs": "--defer-hard-irqs",
    }
)
"""The probe's flag for each knob that makes packets wait."""


class EbpfProbe:
    """Runs the probe for every window.

    Args:
        command: `bayop-probe` with its arguments, in front of it whatever brings it to the server.
        grace_s: How much longer than its window it may take; a kernel's verifier and ssh need a second.

    Raises:
        InputError: there is no command in it.
    """

    def __init__(self, command: str, *, grace_s: float = GRACE_S) -> None:
        self._words = split_command(command)
        self._place = f"eBPF probe {self._words[0]}"
        self._grace_s = grace_s

    def measure(self, window: Window, *, sleep: Callable[[float], None]) -> Latency:
        """What the probe has seen, with the wait before the interrupt.

        Raises:
            InputError: the probe can't be run or fails, no wait was added, or the window had too few requests.
        """
        printed = run_program(
            [*self._words, "--window-s", f"{window.duration_s:g}", "--windows", "1", *self._delays(window.setting)],
            environment={},
            duration_s=window.duration_s,
            grace_s=self._grace_s,
            sleep=sleep,
            place=self._place,
        )
        return self._latency(printed)

    def _delays(self, setting: Setting) -> list[str]:
        """The setting's delays as flags, unless the wait is measured; a knob on `auto` leaves the command's own."""
        if "--wait" in self._words:
            return []
        return [
            word
            for knob_id, flag in DELAY_FLAGS.items()
            if not isinstance(value := setting.get(knob_id, "auto"), str)
            for word in (flag, f"{value:g}")
        ]

    def _latency(self, printed: str) -> Latency:
        try:
            seen = json.loads(printed)
            vantage, sd = Vantage(seen["vantage"]), _numbers(seen["relative_sd"])
            quantities = {k: v for k, v in _numbers(seen).items() if quantile_of(k) or k in ("mean_us", "qps")}
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InputError(
                "the command is bayop-probe, which prints one JSON object for a window",
                value=printed[:80],
                place=self._place,
                hint="without --windows or --window-s: they are added",
            ) from None
        check_vantage(vantage, place=f"{self._place}, vantage")
        if not any(quantile_of(name) for name in quantities):
            raise InputError(
                "a window has at least twenty requests to the port",
                value=seen.get("requests"),
                place=self._place,
                hint="are --port, --cgroup and --netns the server's? A longer --window sees more",
            )
        return Latency(quantities, vantage, sd)


def _numbers(values: Mapping[str, object]) -> dict[str, float]:
    """The entries that are positive numbers."""
    return {
        name: float(value)
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and 0.0 < value < math.inf
    }
