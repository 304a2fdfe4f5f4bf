"""The machine sleeps while a lease is in force, and its wall clock jumps: a lease counts the time since boot."""

from __future__ import annotations

import time

import pytest
from tests.end_to_end.lab.lab_agent import LabAgent, snapshot, until_link
from tests.support.patience import eventually

from lab import Machine

pytestmark = [pytest.mark.slow, pytest.mark.weekly]

SETTING: dict[str, float | str] = {"cpu.freq_mhz": 1700, "power.cap_w@intel-rapl:0/0": 30, "nic.rx_usecs@eth0": 100}
TTL_S = 30.0
SLEEP_S = 10


def clocks_s(machine: Machine) -> tuple[float, float]:
    """CLOCK_BOOTTIME and CLOCK_MONOTONIC, which stands still while the machine sleeps."""
    clocks = machine.run("cut -d' ' -f1 /proc/uptime; awk '/^now at/ { print $3 / 1e9 }' /proc/timer_list")
    boottime_s, monotonic_s = map(float, clocks.stdout.split())
    return boottime_s, monotonic_s


@pytest.mark.timeout(400)
def test_a_lease_ends_while_the_machine_sleeps(machine: Machine, agent: LabAgent) -> None:
    original = snapshot(machine)
    began_s, began_awake_s = clocks_s(machine)
    lease = agent.hold(SETTING, ttl_s=TTL_S)
    while clocks_s(machine)[0] - began_s <= TTL_S:
        machine.suspend(SLEEP_S)
    assert eventually(lambda: agent.status()["held"] == [], within_s=5)
    assert clocks_s(machine)[1] - began_awake_s < TTL_S, "it was the sleep that was longer than the lease"
    assert snapshot(machine) == original
    assert agent.apply(lease, SETTING)["error"]["kind"] == "conflict"
    assert "event=lease_expired" in agent.log()
    until_link(machine)


def test_a_jump_of_the_wall_clock_changes_nothing(machine: Machine, agent: LabAgent) -> None:
    agent.hold(SETTING, ttl_s=600)
    held = agent.status()["held"]
    try:
        for jump_s in (86_400, -2 * 86_400):
            machine.run(f"date -s @$(($(date +%s) + {jump_s}))")
            time.sleep(2.5)
            status = agent.status()
            assert 500 < status["lease"]["expires_in_s"] <= 600
            assert status["held"] == held
    finally:
        machine.run("hwclock --hctosys --utc")
    agent.post("/v1/restore", {})
    until_link(machine)
