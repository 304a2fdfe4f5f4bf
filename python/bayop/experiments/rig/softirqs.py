"""How often the kernel polled its network devices."""

from __future__ import annotations


def net_rx_softirqs(softirqs: str) -> int:
    """NET_RX softirqs of all CPUs since the machine has started, from what /proc/softirqs says."""
    line = next(line for line in softirqs.splitlines() if line.strip().startswith("NET_RX:"))
    return sum(map(int, line.split()[1:]))
