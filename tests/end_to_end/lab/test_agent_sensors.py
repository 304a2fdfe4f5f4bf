"""Power and energy as the agent reads them agree with the lab's power law, and nothing is counted twice."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from tests.end_to_end.lab.conftest import FrequencySetter
from tests.end_to_end.lab.lab_agent import LabAgent
from tests.end_to_end.lab.test_powercap import CPUS, WINDOW_S, busy_cpus

from lab import Machine
from lab.power_law import CpuLoad, ZonePowers, meter_power_w, zone_powers

pytestmark = pytest.mark.slow

ZONES = ("package-0", "package-0/core", "package-0/dram", "psys")  # in the order of ZonePowers


@dataclass(frozen=True)
class Sample:
    """The counters of every sensor at one moment, by name and place."""

    time_s: float
    values: Mapping[tuple[str, str], float]


def sample(agent: LabAgent) -> Sample:
    answer = agent.request("GET", "/v1/sensors")
    values = {(each["name"], each["at"]): each["value"] for each in answer["readings"]}
    return Sample(answer["time_s"], values)


def grown(before: Sample, after: Sample, name: str, at: str) -> float:
    return after.values[name, at] - before.values[name, at]


def powers_w(before: Sample, after: Sample) -> dict[str, float]:
    """The average power of each zone and of the machine between two samples."""
    span_s = after.time_s - before.time_s
    return {at: grown(before, after, "energy_j", at) / span_s for at in (*ZONES, "machine")}


def law(before: Sample, after: Sample, freq_mhz: int) -> ZonePowers:
    """What the zones should have drawn between two samples, by how busy the agent says that each CPU was."""
    span_s = after.time_s - before.time_s
    busy = [1 - grown(before, after, "cpu_idle_s", f"cpu{cpu}") / span_s for cpu in range(CPUS)]
    return zone_powers([CpuLoad(busy_share=share, freq_mhz=freq_mhz) for share in busy])


@pytest.mark.parametrize("freqs_mhz", [(1300, 1300), (2900, 1300), (2900, 2900)])
def test_the_hwmon_meter_agrees_with_the_power_law(agent: LabAgent, freqs_mhz: tuple[int, int]) -> None:
    agent.hold({f"cpu.freq_mhz@policy{cpu}": freq_mhz for cpu, freq_mhz in enumerate(freqs_mhz)})
    time.sleep(0.15)  # the kernel keeps a reading for 100 ms
    power_w = sample(agent).values["power_w", "power_meter/power1"]
    print(f"hwmon: {power_w} W, the law: {meter_power_w(freqs_mhz):.2f} W")
    assert power_w == pytest.approx(meter_power_w(freqs_mhz), rel=0.02)


@pytest.mark.parametrize(("freq_mhz", "busy"), [(1300, 0), (2900, 1), (2900, 2)])
def test_powercap_energy_agrees_with_the_power_law(machine: Machine, agent: LabAgent, freq_mhz: int, busy: int) -> None:
    agent.hold({"cpu.freq_mhz": freq_mhz})
    with busy_cpus(machine, busy):
        before = sample(agent)
        time.sleep(WINDOW_S)
        after = sample(agent)
    measured_w, lawful = powers_w(before, after), law(before, after, freq_mhz)
    # /proc/stat has idle times in steps of 10 ms: at both ends of the window, on each CPU.
    resolution = CpuLoad(busy_share=2 * 0.01 / WINDOW_S, freq_mhz=freq_mhz)
    resolution_w = zone_powers([resolution] * CPUS).core_w
    expected_w = (lawful.package_w, lawful.core_w, lawful.dram_w, lawful.psys_w)
    print({at: round(power_w, 2) for at, power_w in measured_w.items()}, lawful)
    assert [measured_w[at] for at in ZONES] == pytest.approx(expected_w, rel=0.02, abs=resolution_w)
    # The core is a part of the package, and psys contains all: only the package and the memory beside it are counted.
    assert measured_w["machine"] == pytest.approx(measured_w["package-0"] + measured_w["package-0/dram"], rel=1e-6)


def test_energy_goes_on_across_the_wrap_around_of_the_counters(
    machine: Machine, agent: LabAgent, freq_mhz: FrequencySetter
) -> None:
    freq_mhz(1300)
    counter = "/sys/class/powercap/intel-rapl:0/energy_uj"
    near_uj = int(machine.read("/sys/class/powercap/intel-rapl:0/max_energy_range_uj")) - 60_000_000
    agent.end()
    machine.run(f"rmmod lab_powercap && modprobe lab_powercap start_energy_uj={near_uj}")
    try:
        agent.start()
        before = sample(agent)
        assert int(machine.read(counter)) >= near_uj
        time.sleep(3 * WINDOW_S)  # nobody asks meanwhile: the agent has to look by itself
        after = sample(agent)
        assert int(machine.read(counter)) < near_uj, "it has wrapped around"
        agent.end()
    finally:
        machine.run("rmmod lab_powercap && modprobe lab_powercap")
    measured_w, lawful = powers_w(before, after), law(before, after, 1300)
    assert measured_w["psys"] == pytest.approx(lawful.psys_w, rel=0.02)
    assert measured_w["machine"] == pytest.approx(lawful.package_w + lawful.dram_w, rel=0.02)
