"""What a NIC makes of the interrupt delay that it is asked for.

Drivers round and clamp rx_usecs (ENA asks its device for multiples of a resolution; ixgbevf reads 1 as "adaptive"),
and `ethtool -c` shows what was asked. What is in effect is the distance between interrupts under traffic that is dense
enough to wait for each of them.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final

from bayop.domains import Steps
from bayop.errors import InputError, UnsupportedError
from bayop.live.agent.checks import check_applies, check_restored
from bayop.live.agent.client import AgentClient
from bayop.live.agent.lease import STEP_S, Lease
from bayop.live.agent.messages import Reading
from bayop.space import RX_USECS, Knob

VALUES_US: Final = (0.0, 10.0, 20.0, 50.0, 64.0, 100.0, 200.0, 500.0, 1000.0)
"""What is asked where nobody says: where drivers are known to round, and the range of a search."""

DENSE: Final = 4.0
"""Packets in each interrupt from which on it is the NIC that spaces them, and not the traffic.

An interrupt comes when the delay has passed and a packet waits. With n packets expected in a delay and Poisson arrivals
none is there with probability e^-n, and the NIC waits on for 1/n of a delay more: at 4, half a per cent.
"""

_BUSY_SHARE: Final = 0.05

_RESET_S: Final = 10.0
"""How long a driver that resets its link on a write may take to get it back (e1000e: two to three seconds)."""


@dataclass(frozen=True, slots=True)
class Delay:
    """One requested delay, measured.

    Attributes:
        requested_us: What was written.
        spacing_us: The mean distance of interrupts on a queue that has traffic; None without interrupts.
        packets_per_interrupt: Received packets for each interrupt.
    """

    requested_us: float
    spacing_us: float | None
    packets_per_interrupt: float

    @property
    def effective_us(self) -> float | None:
        """The delay in effect; None where the traffic was too thin to tell."""
        return self.spacing_us if self.packets_per_interrupt >= DENSE else None


def measure_delays(
    client: AgentClient, device: str, values_us: Sequence[float], *, window_s: float, settle_s: float, holder: str
) -> Generator[Delay, None, None]:
    """Sets one delay after the other on a live NIC; the NIC has its own setting back at the end, whatever happens.

    Whoever stops listening early closes the generator, which ends the lease.

    Raises:
        InputError: the machine or its allow-list does not have the NIC, or a value lies outside its range.
        UnsupportedError: the agent does not apply settings, or counts no interrupts of this NIC.
        DriftError: the lease was lost, or the NIC's own setting could not be put back.
    """
    check_applies(client)
    knob_id = f"{RX_USECS}@{device}"
    _check_values(client, device, values_us)
    _counters(client.sensors(), device)
    lease = Lease(client, holder=holder)
    try:
        for value_us in values_us:
            lease.expect(STEP_S)
            client.apply({knob_id: value_us}, lease=lease.token)
            _wait_for_traffic(client, device, lease, settle_s)
            before = client.sensors()
            lease.sleep(window_s)
            yield _delay(device, value_us, before, client.sensors())
    finally:
        check_restored(lease.release(keep=False))


def _wait_for_traffic(client: AgentClient, device: str, lease: Lease, settle_s: float) -> None:
    """Returns once packets come in again, or `_RESET_S` have passed; a write may have reset the link."""
    ends = monotonic() + _RESET_S
    _, packets = _counters(client.sensors(), device)
    while True:
        lease.sleep(settle_s)
        _, now = _counters(client.sensors(), device)
        if now > packets or monotonic() > ends:
            return


def _check_values(client: AgentClient, device: str, values_us: Sequence[float]) -> None:
    machine = client.knobs()
    if RX_USECS in machine.why_missing:
        raise UnsupportedError(
            wrong="no NIC here has an interrupt delay", place=RX_USECS, hint=machine.why_missing[RX_USECS]
        )
    places = [p for knob in machine.knobs if knob.id == RX_USECS for p in knob.places]
    place = next((p for p in places if p.at == device), None)
    if place is None:
        devices = ", ".join(p.at for p in places) or "none"
        raise InputError(
            wrong=f"the machine has no NIC {device}",
            value=device,
            parameter="device",
            hint=f"with {RX_USECS}: {devices}",
        )
    if place.allowed is None:
        raise UnsupportedError(
            wrong=f"{device} is not on the agent's allow-list",
            value=device,
            hint=f'add it to [allow."{RX_USECS}"] in /etc/bayop/agent.toml and restart bayop-agent',
        )
    allowed = place.allowed.values
    for value_us in values_us:
        if not (allowed.holds(value_us) if isinstance(allowed, Steps) else value_us in allowed.options):
            takes = Knob(RX_USECS, allowed).describe()
            raise InputError(f"{device} must be set to {takes}", value=value_us, parameter="values")


def _delay(device: str, requested_us: float, before: Sequence[Reading], after: Sequence[Reading]) -> Delay:
    (queues, packets), (old_queues, old_packets) = _counters(after, device), _counters(before, device)
    duration_s = after[0].time_s - before[0].time_s
    counts = [count - old_queues[at] for at, count in queues.items() if at in old_queues]
    # A queue that the traffic does not hash to has the odd interrupt of its own.
    busy = [count for count in counts if count > _BUSY_SHARE * max(counts)]
    interrupts = sum(busy)
    if interrupts <= 0:
        return Delay(requested_us, None, 0.0)
    spacing_us = 1e6 * duration_s * len(busy) / interrupts
    return Delay(requested_us, spacing_us, (packets - old_packets) / interrupts)


def _counters(readings: Sequence[Reading], device: str) -> tuple[dict[str, float], float]:
    """Interrupts of each of the NIC's receive queues, and its received packets."""
    queues, packets = {}, None
    for reading in readings:
        if reading.name == "interrupts" and reading.at.startswith(f"{device}/") and "/tx-" not in reading.at:
            queues[reading.at] = _value(reading)
        elif (reading.name, reading.at) == ("nic_rx_packets", device):
            packets = _value(reading)
    if not queues or packets is None:
        raise UnsupportedError(
            wrong=f"the agent counts no interrupts and packets of {device}",
            value=device,
            hint="a virtual device has no interrupts of its own: calibrate the physical one",
        )
    return queues, packets


def _value(reading: Reading) -> float:
    if reading.value is None:
        raise UnsupportedError(wrong="the counter can't be read", place=reading.source, hint=str(reading.error))
    return reading.value
