"""What a service takes of its machine, counted beside the agent's sensors by whoever has started it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bayop.live.agent.messages import Reading
from bayop.live.window import SERVICE_CPU, meter_of


@dataclass(frozen=True, slots=True)
class PowerModel:
    """Power from what a service makes a machine do, whatever else that does.

    `idle_w + (busy_w - idle_w) * (processor time of the service + poll_s * polls) / time of all processors`.

    Attributes:
        idle_w: What the machine draws when no processor is busy.
        busy_w: What it draws when all are.
        cpus: How many it has.
        polls: How often the service's device was polled until now, other than in the service's own processor time.
        poll_s: Processor time of such a poll, in s.
    """

    idle_w: float
    busy_w: float
    cpus: int
    polls: Callable[[], int]
    poll_s: float

    def energy_j(self, time_s: float, cpu_s: float) -> float:
        """What was drawn until a time, of which only differences mean something.

        Args:
            time_s: The time, on any clock.
            cpu_s: Processor time that the service has taken until then.
        """
        busy_s = (cpu_s + self.poll_s * self.polls()) / self.cpus
        return self.idle_w * time_s + (self.busy_w - self.idle_w) * busy_s

    def source(self, counted: str) -> str:
        """Where its readings come from, for people; `counted` is where the service's processor time does."""
        return (
            f"the service's processor time ({counted}) and {self.poll_s * 1e6:g} us a poll of its device "
            f"({self.idle_w:g} W idle, {self.busy_w:g} W busy)"
        )


@dataclass(frozen=True, slots=True)
class Service:
    """A service.

    Attributes:
        cpu_s: Processor time that it has taken until now.
        power: What stands in for the agent's meter; None to go by that.
        counted: Where its processor time comes from, for people.
    """

    cpu_s: Callable[[], float]
    power: PowerModel | None = None
    counted: str = "/proc"

    def beside(self, readings: Sequence[Reading]) -> list[Reading]:
        """The agent's readings with the service's own."""
        meter = meter_of(readings)
        time_s, cpu_s = meter.time_s, self.cpu_s()
        own = Reading(
            SERVICE_CPU, "service", cpu_s, "counter", self.counted, estimated=False, time_s=time_s, error=None
        )
        if self.power is None:
            return [*readings, own]
        energy_j, source = self.power.energy_j(time_s, cpu_s), self.power.source(self.counted)
        estimate = Reading(meter.name, meter.at, energy_j, "counter", source, estimated=True, time_s=time_s, error=None)
        return [*(reading for reading in readings if reading is not meter), own, estimate]
