"""The eBPF probe on the server, `bayop-probe`, as a source of latency.

It needs nobody's help and costs less than a microsecond a request, but it can't see a packet wait for its interrupt.
So it is run with that wait added: measured (`--wait DEVICE`), or modelled from the delay that a trial has set. For the
default, whose delay no setting names, the command says it::

    --latency 'ebpf:ssh root@server bayop-probe --port 11211 --rx-usecs 3 --queues 16'

Every window runs the command once, with the window's length and the setting's delay behind its own arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from bayop.latency.base import Latency, Window
from bayop.latency.probe_program import measure_with
from bayop.program import split_command
from bayop.space import AUTO, DEFER_HARD_IRQS, GRO_FLUSH_TIMEOUT_US, RX_USECS, Setting

PREFIX: Final = "ebpf:"
"""What such a source begins with in `--latency`."""

DELAY_FLAGS: Final = MappingProxyType(
    {
        RX_USECS: "--rx-usecs",
        GRO_FLUSH_TIMEOUT_US: "--gro-flush-timeout-us",
        DEFER_HARD_IRQS: "--defer-hard-irqs",
    }
)
"""The probe's flag for each knob that makes packets wait."""


class EbpfProbe:
    """Runs the probe for every window.

    Args:
        command: `bayop-probe` with its arguments, in front of it whatever brings it to the server.

    Raises:
        InputError: there is no command in it.
    """

    def __init__(self, command: str) -> None:
        self._words = split_command(command)

    def measure(self, window: Window, *, sleep: Callable[[float], None]) -> Latency:
        """What the probe has seen, with the wait before the interrupt.

        Raises:
            InputError: the probe can't be run or fails, no wait was added, or the window had too few requests.
        """
        return measure_with(
            [*self._words, "--window-s", f"{window.duration_s:g}", "--windows", "1", *self._delays(window.setting)],
            name="eBPF probe",
            duration_s=window.duration_s,
            sleep=sleep,
            hint="are --port, --cgroup and --netns the server's? A longer window sees more",
        )

    def _delays(self, setting: Setting) -> list[str]:
        """The setting's delays as flags, unless the wait is measured; a knob on `auto` leaves the command's own."""
        if "--wait" in self._words:
            return []
        return [
            word
            for knob_id, flag in DELAY_FLAGS.items()
            if not isinstance(value := setting.get(knob_id, AUTO), str)
            for word in (flag, f"{value:g}")
        ]
