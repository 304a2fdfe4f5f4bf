"""What a capture of interrupts shows of a server at one setting, in the twin's terms.

Who captures and where the numbers come from is not this module's: `bayop.interrupts.observe` reads them out of logs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bayop.twin.handlers import HandlerTimes


@dataclass(frozen=True, slots=True)
class Observed:
    """A server at one setting, as its interrupts show it.

    Attributes:
        name: The capture, for people.
        setting: What was in effect, by knob id; a knob that was left to the system is not in it.
        qps: Requests/s that it was offered; None where every packet counts as a request.
        power_w: What it drew; None where nobody measured it.
        cpus: CPUs that took interrupts.
        freq_mhz: Mean frequency.
        interrupts: How many there were.
        duration_s: How long it took.
        packets: Received packets.
        utilization: Share of those CPUs' time not idle (0 to 1).
        handlers: Times in us.
        delay_us: The least spacing that interrupts keep, where they do; None where packets come too rarely to show it.
        idle_shares: Share of those CPUs' time in each idle state, by the kernel's name.
    """

    name: str
    setting: Mapping[str, float]
    qps: float | None
    power_w: float | None
    cpus: int
    freq_mhz: float
    interrupts: int
    duration_s: float
    packets: int
    utilization: float
    handlers: HandlerTimes
    delay_us: float | None
    idle_shares: Mapping[str, float]

    @property
    def packets_per_s(self) -> float:
        """Received packets a second."""
        return self.packets / self.duration_s

    @property
    def requests_per_s(self) -> float:
        """The load: what was said, else a request a packet."""
        return self.packets_per_s if self.qps is None else self.qps

    @property
    def quantities(self) -> dict[str, float]:
        """What the twin can be asked to predict, under the names of `Measurement` and `packets_per_interrupt`."""
        power = {} if self.power_w is None else {"power_w": self.power_w}
        return {
            "interrupts_per_s": self.interrupts / self.duration_s,
            "packets_per_interrupt": self.packets / self.interrupts,
            "utilization": self.utilization,
            **power,
        }
