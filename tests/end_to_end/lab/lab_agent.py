"""The agent in the lab's machine, as a process to start and end, and everything there that it could have changed."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Mapping, Sequence
from typing import Any

from bayop.live.agent.address import Credentials
from bayop.live.agent.client import AgentClient
from lab import Machine
from lab.agent import Access

SOCKET = "/run/bayop/agent.sock"
JOURNAL = "/var/lib/bayop/journal"
LOG = "/var/log/start.log"

# Every control of every knob that the guest's kernel has, read by other means than the agent's. scaling_setspeed and
# scaling_cur_freq mean nothing under a governor that chooses itself. Reading /dev/cpu_dma_latency asks for nothing.
SNAPSHOT = r"""
cd /sys/devices/system/cpu
grep -H . cpufreq/policy*/scaling_governor cpufreq/policy*/scaling_m*_freq cpufreq/policy*/scaling_setspeed \
    cpu*/cpuidle/state*/disable cpuidle/current_governor cpu*/power/pm_qos_resume_latency_us \
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
        self.credentials = Credentials(access.client.certificate, access.client.key, access.authority)
        self.client = AgentClient.at(self.address, self.credentials)

    def start(self, *environment: str) -> None:
        """Starts it and returns once it listens."""
        self._machine.run(f"{START} start {shlex.join(environment)}")

    def ensure_running(self) -> None:
        """Starts it unless it runs, and returns once it listens."""
        self._machine.run(
            f"{START} pidof bayop-agent >/dev/null || start; until [ -S {SOCKET} ]; do usleep 10000; done"
        )

    def end(self, signal: str = "TERM") -> None:
        """Ends it with a signal and waits until it is gone."""
        self._machine.run(f"killall -{signal} bayop-agent; while pidof bayop-agent; do usleep 10000; done")

    def request(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """A request from inside, over the Unix socket: it needs no network card. Returns what is answered."""
        answer = self._machine.run(f"nc.openbsd -U {SOCKET}", stdin=_http(method, path, body)).stdout
        decoded: dict[str, Any] = json.loads(answer.partition("\r\n\r\n")[2])
        return decoded

    def post(self, path: str, body: object) -> dict[str, Any]:
        """A POST from inside."""
        return self.request("POST", path, body)

    def status(self) -> dict[str, Any]:
        """GET /v1/status."""
        return self.request("GET", "/v1/status")

    def hold(self, setting: Mapping[str, float | str], *, ttl_s: float = 600) -> str:
        """Applies a setting under a new lease, which it returns."""
        lease = str(self.post("/v1/lease", {"holder": "test", "ttl_s": ttl_s})["lease"])
        applied = self.apply(lease, setting)
        assert "error" not in applied, applied
        return lease

    def apply(self, lease: str, setting: Mapping[str, float | str]) -> dict[str, Any]:
        """Applies a setting under a lease, from inside; returns what is answered."""
        return self.post("/v1/apply", {"lease": lease, "setting": setting})

    def apply_forever(self, lease: str, settings: Sequence[Mapping[str, float | str]]) -> None:
        """Goes on applying settings in turn, in the guest, as long as that has power."""
        for number, setting in enumerate(settings):
            self._machine.write(
                f"/run/request{number}", _http("POST", "/v1/apply", {"lease": lease, "setting": setting})
            )
        requests = f"for request in /run/request*; do nc.openbsd -U {SOCKET} <$request; done"
        self._machine.run(f"while :; do {requests}; done >/dev/null 2>&1 &")

    def log(self) -> str:
        """What it has said since the machine was booted."""
        return self._machine.read(LOG)


def _http(method: str, path: str, body: object) -> str:
    """A request as it is sent; the agent hangs up after its answer."""
    text = "" if body is None else json.dumps(body)
    head = f"{method} {path} HTTP/1.1\r\nhost: agent\r\nconnection: close\r\ncontent-length: {len(text)}\r\n\r\n"
    return head + text


def snapshot(machine: Machine) -> list[str]:
    """Every control of the machine, a line each."""
    return machine.run(SNAPSHOT).stdout.splitlines()


def denials(machine: Machine) -> list[str]:
    """What the agent's AppArmor profile denied, by the kernel's log."""
    return [line for line in machine.run("dmesg").stdout.splitlines() if 'apparmor="DENIED"' in line]


def until_link(machine: Machine) -> None:
    """Waits until the network card has its link again, which e1000e resets on every write of rx_usecs."""
    time.sleep(0.2)
    machine.run("/usr/lib/lab/ready")
