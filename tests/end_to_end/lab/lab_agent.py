"""The agent in the lab's machine, as a process to start and end, and everything there that it could have changed."""

from __future__ import annotations

import json
import shlex
import time
from typing import Any

from bayop.agent.address import Credentials
from bayop.agent.client import AgentClient
from lab import Machine
from lab.agent import Access

SOCKET = "/run/bayop/agent.sock"
JOURNAL = "/var/lib/bayop/journal"
LOG = "/var/log/start.log"

# Every control of every knob that the guest's kernel has, read by other means than the agent's. scaling_setspeed and
# scaling_cur_freq mean nothing under a governor that chooses itself. Reading /dev/cpu_dma_latency asks for nothing.
SNAPSHOT = r"""
grep -H . /sys/devices/system/cpu/cpufreq/policy*/scaling_governor /sys/devices/system/cpu/cpufreq/policy*/scaling_m*_freq \
    /sys/devices/system/cpu/cpufreq/policy*/scaling_setspeed \
    /sys/devices/system/cpu/cpu*/cpuidle/state*/disable /sys/devices/system/cpu/cpuidle/current_governor \
    /sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us \
    /sys/class/powercap/*/enabled /sys/class/powercap/*/constraint_*_power_limit_uw \
    /sys/class/powercap/*/constraint_*_time_window_us \
    /sys/class/net/eth0/gro_flush_timeout /sys/class/net/eth0/napi_defer_hard_irqs
ethtool --show-coalesce eth0
od -An -td4 -N4 /dev/cpu_dma_latency
"""

# Starts an agent in the background and returns once it listens; fails when it ends before.
START = rf"""
start() {{
    rm -f {SOCKET}
    env "$@" bayop-agent serve >>{LOG} 2>&1 &
    agent=$!
    until [ -S {SOCKET} ]; do kill -0 $agent 2>/dev/null || return 1; usleep 5000; done
}}
"""


class LabAgent:
    """The agent of the lab's machine."""

    def __init__(self, machine: Machine, access: Access) -> None:
        self._machine = machine
        self.address = f"https://127.0.0.1:{machine.ports.agent}"
        self.flags = access.flags()
        self.client = AgentClient.at(
            self.address, Credentials(access.client.certificate, access.client.key, access.authority)
        )

    def start(self, *environment: str) -> None:
        """Starts it and returns once it listens."""
        self._machine.run(f"{START} start {shlex.join(environment)}")

    def end(self, signal: str = "TERM") -> None:
        """Ends it with a signal, and waits until it is gone; nothing when it is not there."""
        self._machine.run(f"killall -{signal} bayop-agent 2>/dev/null; while pidof bayop-agent; do usleep 10000; done")

    def post(self, path: str, body: object) -> dict[str, Any]:
        """A request from inside, over the Unix socket: it needs no network card. Returns what is answered."""
        text = json.dumps(body)
        request = (
            f"POST {path} HTTP/1.1\r\nhost: agent\r\nconnection: close\r\ncontent-length: {len(text)}\r\n\r\n{text}"
        )
        answer = self._machine.run(f"nc.openbsd -U {SOCKET}", stdin=request).stdout
        decoded: dict[str, Any] = json.loads(answer.partition("\r\n\r\n")[2])
        return decoded

    def hold(self, setting: dict[str, float | str], *, ttl_s: float = 600) -> str:
        """Applies a setting under a new lease, which it returns."""
        lease = str(self.post("/v1/lease", {"holder": "test", "ttl_s": ttl_s})["lease"])
        applied = self.post("/v1/apply", {"lease": lease, "setting": setting})
        assert "error" not in applied, applied
        return lease

    def log(self) -> str:
        """What it has said."""
        return self._machine.read(LOG)


def snapshot(machine: Machine) -> list[str]:
    """Every control of the machine, a line each."""
    return machine.run(SNAPSHOT).stdout.splitlines()


def until_link(machine: Machine) -> None:
    """Waits until the network card has its link again, which e1000e resets on every write of rx_usecs."""
    time.sleep(0.2)
    machine.run("/usr/lib/lab/ready")
