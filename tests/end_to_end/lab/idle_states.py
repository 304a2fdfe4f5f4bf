"""How often the CPUs of the lab's machine enter their idle states, as the kernel counts it."""

from __future__ import annotations

import time

from lab import Machine

CPU = "/sys/devices/system/cpu"


def entries(machine: Machine) -> dict[str, int]:
    """Of each state, on both CPUs."""
    lines = machine.run(f"cd {CPU}; grep -H . cpu*/cpuidle/state*/name cpu*/cpuidle/state*/usage").stdout.splitlines()
    told = dict(line.split(":", 1) for line in lines)
    counts: dict[str, int] = {}
    for path, name in told.items():
        if path.endswith("/name"):
            counts[name] = counts.get(name, 0) + int(told[path.replace("/name", "/usage")])
    return counts


def entries_of_cpus(machine: Machine) -> list[int]:
    """Of all states, for each CPU."""
    total = "awk '{ sum += $1 } END { print sum }'"
    return [int(machine.run(f"cat {CPU}/cpu{cpu}/cpuidle/state*/usage | {total}").stdout) for cpu in (0, 1)]


def entered_in(machine: Machine, duration_s: float) -> dict[str, int]:
    """How often each is entered in a while."""
    before = entries(machine)
    time.sleep(duration_s)
    return {name: count - before[name] for name, count in entries(machine).items()}
