"""The emulated server's real drivers do what a server's do: frequencies, idle states, interrupts, a NIC that goes."""

from __future__ import annotations

import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from tests.end_to_end.lab.conftest import FrequencySetter
from tests.end_to_end.lab.memcached_load import send_load

from lab import Machine
from lab.power_law import meter_power_w

pytestmark = pytest.mark.slow

P_STATES_MHZ = [1300, 1500, 1700, 1900, 2100, 2300, 2500, 2700, 2900]
LOAD_PER_S = 2500
POLICIES = [f"/sys/devices/system/cpu/cpufreq/policy{cpu}" for cpu in range(2)]


def test_the_driver_is_acpi_cpufreq_with_every_p_state(machine: Machine) -> None:
    for policy in POLICIES:
        assert machine.read(f"{policy}/scaling_driver") == "acpi-cpufreq"
        freqs_khz = machine.read(f"{policy}/scaling_available_frequencies").split()
        assert sorted(int(khz) // 1000 for khz in freqs_khz) == P_STATES_MHZ


@pytest.mark.parametrize("p_state_mhz", P_STATES_MHZ)
def test_a_p_state_is_set_and_the_power_meter_follows(
    machine: Machine, freq_mhz: FrequencySetter, p_state_mhz: int
) -> None:
    freq_mhz(p_state_mhz)
    for policy in POLICIES:
        assert machine.read(f"{policy}/scaling_cur_freq") == f"{p_state_mhz}000"
    time.sleep(0.15)  # the kernel keeps a reading for 100 ms
    power_w = int(machine.read("/sys/class/hwmon/hwmon0/device/power1_average")) / 1e6
    assert power_w == pytest.approx(meter_power_w([p_state_mhz] * 2), rel=0.02)


def test_each_cpu_has_a_p_state_of_its_own(machine: Machine, freq_mhz: FrequencySetter) -> None:
    freq_mhz(1300)
    machine.write(f"{POLICIES[1]}/scaling_setspeed", "2900000")
    assert [machine.read(f"{policy}/scaling_cur_freq") for policy in POLICIES] == ["1300000", "2900000"]


def idle_usage(machine: Machine, state: int) -> int:
    return int(machine.read(f"/sys/devices/system/cpu/cpu0/cpuidle/state{state}/usage"))


def test_a_disabled_idle_state_is_not_entered(machine: Machine) -> None:
    disable = "/sys/devices/system/cpu/cpu0/cpuidle/state3/disable"
    machine.write(disable, "1")
    try:
        machine.run("sleep 0.1")  # whoever was in it has left
        deep, shallow = idle_usage(machine, 3), idle_usage(machine, 2)
        machine.run("sleep 1")
        assert idle_usage(machine, 3) == deep
        assert idle_usage(machine, 2) > shallow
    finally:
        machine.write(disable, "0")
    machine.run("sleep 1")
    assert idle_usage(machine, 3) > deep


def receive_interrupts(machine: Machine) -> tuple[float, int]:
    """The guest's clock in seconds, and its interrupts of the NIC's receive queue since boot."""
    uptime, *rows = machine.run("cat /proc/uptime /proc/interrupts").stdout.splitlines()
    row = next(row for row in rows if row.endswith("eth0-rx-0"))
    return float(uptime.split()[0]), sum(int(count) for count in row.split()[1:3])


def peak_rate_per_s(machine: Machine) -> float:
    """The highest rate of receive interrupts in half a second: a busy host only makes them rarer."""
    with ThreadPoolExecutor() as pool:
        load = pool.submit(send_load, machine.ports.memcached, rate_per_s=LOAD_PER_S, duration_s=4)
        samples = [receive_interrupts(machine)]
        while not load.done():
            time.sleep(0.5)
            samples.append(receive_interrupts(machine))
        load.result()
    return max((late - early) / (end_s - start_s) for (start_s, early), (end_s, late) in pairwise(samples))


def rx_usecs(machine: Machine) -> int:
    match = re.search(r"^rx-usecs:\s+(\d+)", machine.run("ethtool --show-coalesce eth0").stdout, re.MULTILINE)
    assert match is not None
    return int(match[1])


def set_rx_usecs(machine: Machine, value: int) -> None:
    """Writes it and waits for the link, which e1000e resets for two seconds (e1000e_set_coalesce)."""
    machine.run(f"ethtool --coalesce eth0 rx-usecs {value} && sleep 0.2 && /usr/lib/lab/ready")


def test_memcached_answers_over_udp(machine: Machine) -> None:
    frame = bytes([0, 7, 0, 0, 0, 1, 0, 0])  # memcached's protocol.txt, UDP protocol: request 7, datagram 0 of 1
    with socket.socket(type=socket.SOCK_DGRAM) as client:
        client.settimeout(5)
        client.sendto(frame + b"version\r\n", ("127.0.0.1", machine.ports.memcached_udp))
        answer = client.recv(1500)
    assert answer[:2] == frame[:2]
    assert answer[8:].startswith(b"VERSION ")


def test_the_nic_goes_and_comes_back(machine: Machine) -> None:
    machine.remove_nic()
    try:
        assert machine.run("test -e /sys/class/net/eth0", check=False).exit_code == 1
    finally:
        machine.restore_nic()
    send_load(machine.ports.memcached, rate_per_s=100, duration_s=0.5, connections=1)


def test_a_power_cut_keeps_the_disk_and_nothing_else(machine: Machine) -> None:
    ports = machine.ports
    machine.run("echo kept >/var/lib/kept && sync && echo lost >/run/lost")
    set_rx_usecs(machine, 250)
    machine.write(f"{POLICIES[0]}/scaling_governor", "userspace")
    machine.power_cut()
    assert machine.read("/var/lib/kept") == "kept"
    assert machine.run("test -e /run/lost", check=False).exit_code == 1
    assert rx_usecs(machine) == 3  # the driver's default
    assert machine.read(f"{POLICIES[0]}/scaling_governor") == "schedutil"
    assert machine.ports == ports
    machine.run("rm /var/lib/kept")
