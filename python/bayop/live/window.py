"""From two samples of an agent's sensors to the quantities of the window between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from bayop.errors import UnsupportedError
from bayop.live.agent.messages import Reading

MACHINE: Final = "machine"
"""Where the meter is read that every power here comes from; the agent chooses it (`[power]` in its configuration)."""

SERVICE_CPU: Final = "service_cpu_s"
"""Processor time that the service has taken, where whoever started it counts that beside the agent's sensors."""


def meter_of(readings: Sequence[Reading]) -> Reading:
    """The energy of the whole machine.

    Raises:
        UnsupportedError: nothing measures it; the sensor's own error says why.
    """
    for reading in readings:
        if (reading.name, reading.at) == ("energy_j", MACHINE):
            if reading.value is None:
                raise UnsupportedError(
                    wrong="the machine's energy can't be measured",
                    place=reading.source or None,
                    hint=f"{reading.error}; bayop doctor --agent ADDRESS says what to do",
                )
            return reading
    raise UnsupportedError(wrong="the agent reads no energy meter", hint="install the bayop-agent of this version")


def window_quantities(before: Sequence[Reading], after: Sequence[Reading]) -> dict[str, float]:
    """What the sensors showed between two samples.

    `power_w`, `energy_j` and `duration_s` always; `utilization` (0-1, of all CPUs), `stolen` (what of their time the
    hypervisor gave to others, 0-1), `service_cpu` (processors that the service kept busy), `interrupts_per_s` (of all
    NIC queues), `net_rx_per_s` (softirqs that poll NAPI instances, on all CPUs) and the residency of each idle state
    (`residency_c1`, share of all CPUs' time, 0-1) where every counter that they need was read twice and did not start
    anew in between: the kernel keeps some in 32 bits.

    Raises:
        UnsupportedError: the energy meter failed.
    """
    first, last = meter_of(before), meter_of(after)
    duration_s = last.time_s - first.time_s
    growth = _growth(before, after)
    energy_j = growth.get("energy_j", {}).get(MACHINE)
    if energy_j is None or duration_s <= 0:
        raise UnsupportedError(
            wrong=f"the energy meter did not count on through the window: {first.value} J, then {last.value} J",
            value=f"{first.value} J, then {last.value} J",
            place=last.source,
            hint="the agent was started anew, or its meter chosen anew: search again",
        )
    quantities = {"power_w": energy_j / duration_s, "energy_j": energy_j, "duration_s": duration_s}
    shares = {"utilization": _share_of_time(growth, "cpu_busy_s"), "stolen": _share_of_time(growth, "cpu_stolen_s")}
    quantities |= {name: share for name, share in shares.items() if share is not None}
    if SERVICE_CPU in growth:
        quantities["service_cpu"] = sum(growth[SERVICE_CPU].values()) / duration_s
    if "interrupts" in growth:
        quantities["interrupts_per_s"] = sum(growth["interrupts"].values()) / duration_s
    net_rx = [n for at, n in growth.get("softirqs", {}).items() if at.startswith("NET_RX/")]
    if net_rx:
        quantities["net_rx_per_s"] = sum(net_rx) / duration_s
    return quantities | _residencies(growth.get("idle_time_s", {}), duration_s)


def stolen(before: Sequence[Reading], after: Sequence[Reading]) -> float | None:
    """What of the CPUs' time the hypervisor gave to others between two samples (0-1); None where nobody knows."""
    return _share_of_time(_growth(before, after), "cpu_stolen_s")


def _share_of_time(growth: Mapping[str, Mapping[str, float]], name: str) -> float | None:
    """What of the CPUs' time a counter of theirs has grown by; None where it or that time was not counted."""
    if not {name, "cpu_busy_s", "cpu_idle_s"} <= growth.keys():
        return None
    whole_s = sum(growth["cpu_busy_s"].values()) + sum(growth["cpu_idle_s"].values())
    return sum(growth[name].values()) / whole_s if whole_s > 0 else None


def _growth(before: Sequence[Reading], after: Sequence[Reading]) -> dict[str, dict[str, float]]:
    """How far counters have grown, by name and place.

    A name is left out as a whole when one of its counters failed, appeared or went back: a sum without it would lie.
    The machine's energy stands for itself, whatever other zones do.
    """
    old = {(r.name, r.at): r.value for r in before}
    growth: dict[str, dict[str, float]] = defaultdict(dict)
    broken: set[str] = set()
    for reading in after:
        then = old.get((reading.name, reading.at))
        if reading.kind == "gauge" or (reading.name == "energy_j" and reading.at != MACHINE):
            continue
        if reading.value is None or then is None or reading.value < then:
            broken.add(reading.name)
        else:
            growth[reading.name][reading.at] = reading.value - then
    return {name: places for name, places in growth.items() if name not in broken}


def _residencies(idle_time_s: Mapping[str, float], duration_s: float) -> dict[str, float]:
    """The share of all CPUs' time in each idle state, from cpuidle's `time` by `cpu0/C1`."""
    states: dict[str, list[float]] = defaultdict(list)
    for at, time_s in idle_time_s.items():
        states[at.rsplit("/", 1)[-1]].append(time_s)
    return {f"residency_{state.lower()}": sum(times) / (len(times) * duration_s) for state, times in states.items()}
