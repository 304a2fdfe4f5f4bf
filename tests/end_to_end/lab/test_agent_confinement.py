"""The agent's AppArmor profile in a real kernel: what it keeps a shell from that runs in the agent's place.

That it keeps the agent from nothing that this needs is seen by every other test here: the fixture `agent` looks.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.end_to_end.lab.lab_agent import LabAgent

from lab import Machine

pytestmark = pytest.mark.slow

NIC = "/sys/class/net/eth0/device"

FORBIDDEN = [
    f"{NIC}/config",
    f"{NIC}/resource0",
    f"{NIC}/remove",
    f"{NIC}/driver/unbind",
    "/sys/class/net/eth0/mtu",
    "/sys/devices/system/cpu/cpu1/online",
    "/proc/sys/kernel/core_pattern",
    "/dev/vda",
    "/etc/passwd",
    "/etc/bayop/agent.toml",
]
KNOBS = [
    "/sys/class/net/eth0/gro_flush_timeout",
    "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
    "/sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw",
    "/dev/cpu_dma_latency",
]


def opened(machine: Machine, paths: list[str], *, mode: str, confined: bool) -> list[str]:
    """The paths that a shell can open; one that is confined gets the agent's profile as its first program starts."""
    become = "echo exec bayop-agent >/proc/self/attr/apparmor/exec;" if confined else ""
    loop = f"for path; do (: {mode}$path) 2>/dev/null && echo $path; done; true"
    return machine.run(f"{become} exec sh -c '{loop}' sh {' '.join(paths)}").stdout.splitlines()


@pytest.fixture(autouse=True)
def kernel_log(machine: Machine, agent: LabAgent) -> Iterator[None]:  # noqa: ARG001 -- the agent's own look at it comes later
    """The kernel's log without what a shell was denied here."""
    yield
    machine.run("dmesg -c")


def test_the_agent_is_confined(machine: Machine) -> None:
    (held,) = machine.run("cat /proc/$(pidof bayop-agent)/attr/apparmor/current").stdout.splitlines()
    assert held == "bayop-agent (enforce)"


def test_only_what_knobs_write_can_be_written_under_its_profile(machine: Machine) -> None:
    assert opened(machine, FORBIDDEN + KNOBS, mode=">>", confined=False) == FORBIDDEN + KNOBS
    assert opened(machine, FORBIDDEN + KNOBS, mode=">>", confined=True) == KNOBS


def test_configuration_space_can_not_even_be_read(machine: Machine) -> None:
    paths = [f"{NIC}/config", f"{NIC}/resource0"]
    assert opened(machine, paths, mode="<", confined=False) == paths
    assert opened(machine, paths, mode="<", confined=True) == []
