"""The powercap zones obey the power law of lab/README.md, their limits and their wrap-around."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass

import pytest
from tests.end_to_end.lab.conftest import FrequencySetter

from lab import Machine
from lab.errors import CommandError
from lab.power_law import CpuLoad, ZonePowers, zone_powers

pytestmark = pytest.mark.slow

POWERCAP = "/sys/class/powercap"
PACKAGE = f"{POWERCAP}/intel-rapl:0"
ZONES = ["intel-rapl:0", "intel-rapl:0:0", "intel-rapl:0:1", "intel-rapl:1"]  # in the order of ZonePowers
CPUS = 2
WINDOW_S = 3


@dataclass(frozen=True)
class Snapshot:
    """What the guest counted at one moment."""

    uptime_s: float
    busy_s: list[float]
    energies_j: list[float]


def snapshot(machine: Machine) -> Snapshot:
    """Counts at one moment: a snapshot during which the guest stood still for long is taken again."""
    zones = " ".join(f"{POWERCAP}/{zone}/energy_uj" for zone in ZONES)
    for _ in range(100):
        uptime, *rest, end = machine.run(f"cat /proc/uptime {zones} /proc/stat /proc/uptime").stdout.splitlines()
        uptime_s, end_s = (float(line.split()[0]) for line in (uptime, end))
        if end_s - uptime_s < 0.015:
            break
    else:
        pytest.fail("the host is too busy for a snapshot of the guest's counters")
    # user nice system idle iowait irq softirq steal, in units of 10 ms (proc(5))
    rows = [[int(n) for n in row.split()[1:9]] for row in rest if row.startswith("cpu") and row[3].isdigit()]
    return Snapshot(
        uptime_s=uptime_s,
        # The busy time is what is neither idle nor iowait: the other columns are sampled by tick.
        busy_s=[uptime_s - (row[3] + row[4]) / 100 for row in rows],
        energies_j=[int(energy) / 1e6 for energy in rest[: len(ZONES)]],
    )


def measured_and_lawful(
    machine: Machine, freqs_mhz: list[int], duration_s: float, limit_w: float | None = None
) -> tuple[list[float], ZonePowers]:
    """The average power of each zone over a window, and what the law says it should have been."""
    before = snapshot(machine)
    time.sleep(duration_s)
    after = snapshot(machine)
    span_s = after.uptime_s - before.uptime_s
    powers_w = [(b - a) / span_s for a, b in zip(before.energies_j, after.energies_j, strict=True)]
    busy = [(b - a) / span_s for a, b in zip(before.busy_s, after.busy_s, strict=True)]
    loads = [CpuLoad(busy_share=share, freq_mhz=freq) for share, freq in zip(busy, freqs_mhz, strict=True)]
    return powers_w, zone_powers(loads, limit_w=limit_w)


@contextmanager
def busy_cpus(machine: Machine, cpus: int) -> Iterator[None]:
    """Keeps the first CPUs busy; none with 0."""
    pids = [
        machine.run(f"taskset {1 << cpu:x} sh -c 'while :; do :; done' >/dev/null 2>&1 & echo $!").stdout.strip()
        for cpu in range(cpus)
    ]
    try:
        yield
    finally:
        for pid in pids:
            machine.run(f"kill {pid}")


def test_the_zones_are_those_of_a_server(machine: Machine) -> None:
    assert [machine.read(f"{POWERCAP}/{zone}/name") for zone in ZONES] == ["package-0", "core", "dram", "psys"]
    names = [machine.read(f"{PACKAGE}/constraint_{number}_name") for number in range(2)]
    assert names == ["long_term", "short_term"]


@pytest.mark.parametrize("busy", [0, 1, 2])
@pytest.mark.parametrize("p_state_mhz", [1300, 2900])
def test_energy_follows_the_power_law(machine: Machine, freq_mhz: FrequencySetter, p_state_mhz: int, busy: int) -> None:
    freq_mhz(p_state_mhz)
    with busy_cpus(machine, busy):
        powers_w, law = measured_and_lawful(machine, [p_state_mhz] * CPUS, duration_s=WINDOW_S)
    # /proc/stat has idle times in steps of 10 ms: at both ends of the window, on each CPU.
    resolution = CpuLoad(busy_share=2 * 0.01 / WINDOW_S, freq_mhz=p_state_mhz)
    resolution_w = zone_powers([resolution] * CPUS).core_w
    assert powers_w == pytest.approx(astuple(law), rel=0.02, abs=resolution_w)


def test_a_limit_is_kept_read_back_and_caps_the_power(machine: Machine, freq_mhz: FrequencySetter) -> None:
    limit, window = f"{PACKAGE}/constraint_0_power_limit_uw", f"{PACKAGE}/constraint_0_time_window_us"
    before = {path: machine.read(path) for path in (limit, window)}
    freq_mhz(2900)
    try:
        machine.write(limit, "30000000")
        machine.write(window, "500000")
        assert machine.read(limit) == "30000000"
        assert machine.read(window) == "500000"
        with busy_cpus(machine, 2):
            capped_w, law = measured_and_lawful(machine, [2900] * CPUS, duration_s=2, limit_w=30)
            assert capped_w == pytest.approx(astuple(law), rel=0.02)
            assert capped_w[0] == pytest.approx(30, rel=0.02)
            machine.write(f"{PACKAGE}/enabled", "0")
            free_w, law = measured_and_lawful(machine, [2900] * CPUS, duration_s=2)
            assert free_w == pytest.approx(astuple(law), rel=0.02)
    finally:
        machine.write(f"{PACKAGE}/enabled", "1")
        restore(machine, before)


def restore(machine: Machine, contents: Mapping[str, str]) -> None:
    for path, content in contents.items():
        machine.write(path, content)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("constraint_0_power_limit_uw", "60000001"),
        ("constraint_0_power_limit_uw", "9999999"),
        ("constraint_1_power_limit_uw", "75000001"),
        ("constraint_0_time_window_us", "999"),
        ("constraint_1_time_window_us", "40000001"),
    ],
)
def test_a_limit_outside_its_bounds_is_refused(machine: Machine, attribute: str, value: str) -> None:
    before = machine.read(f"{PACKAGE}/{attribute}")
    with pytest.raises(CommandError, match="No data available"):  # what powercap makes of every refusal
        machine.write(f"{PACKAGE}/{attribute}", value)
    assert machine.read(f"{PACKAGE}/{attribute}") == before


def test_the_counters_wrap_around_at_their_range(machine: Machine, freq_mhz: FrequencySetter) -> None:
    freq_mhz(1300)
    range_j = 40  # about two seconds of psys
    machine.run(f"rmmod lab_powercap && modprobe lab_powercap max_energy_range_uj={range_j}000000")
    try:
        assert machine.read(f"{PACKAGE}/max_energy_range_uj") == f"{range_j}000000"
        first = last = snapshot(machine)
        wraps = 0
        while wraps < 2:
            previous, last = last, snapshot(machine)
            assert last.energies_j[3] < range_j
            wraps += last.energies_j[3] < previous.energies_j[3]
    finally:
        machine.run("rmmod lab_powercap && modprobe lab_powercap")
    span_s = last.uptime_s - first.uptime_s
    energy_j = last.energies_j[3] - first.energies_j[3] + wraps * range_j
    busy = [(b - a) / span_s for a, b in zip(first.busy_s, last.busy_s, strict=True)]
    law = zone_powers([CpuLoad(busy_share=share, freq_mhz=1300) for share in busy])
    assert energy_j / span_s == pytest.approx(law.psys_w, rel=0.02)
