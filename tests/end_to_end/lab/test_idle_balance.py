"""`bayop-idle-balance` as the scheduler of Debian's newest kernel, under memcached's load."""

from __future__ import annotations

import json
import shutil
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.end_to_end.lab.conftest import kernel_of, new_machine, require_lab
from tests.end_to_end.lab.idle_states import CPU, entries_of_cpus
from tests.end_to_end.lab.memcached_load import loaded
from tests.pages.blocks import blocks_of

from lab import Files, Machine

pytestmark = [pytest.mark.slow, pytest.mark.weekly]

ROOT = Path(__file__).resolve().parents[3]
OWN = "tests/end_to_end/lab/test_idle_balance.py"
PROGRAM = "/usr/bin/bayop-idle-balance"
(START,) = (
    step.command.replace("sudo target/release/bayop-idle-balance", PROGRAM)
    for block in blocks_of(ROOT / "docs/idle.md")
    if block.clauses.get("run by") == OWN
    for step in block.steps()
)
"""As the page has it, but for a guest whose only user is root, and where the program lies there."""
STATE = "/sys/kernel/sched_ext/state"
DEBUG = "/sys/kernel/debug"
OUT, SAID = "/run/balanced", "/run/said"


@pytest.fixture(scope="module")
def machine(idle_balancer: Path) -> Iterator[Machine]:
    """A machine with the balancer, whose network card interrupts the first CPU."""
    require_lab()
    kernel = kernel_of("trixie-backports")
    chrt = shutil.which("chrt")
    assert chrt is not None
    files = Files().add_program(PROGRAM, idle_balancer).add_program("/usr/bin/chrt", Path(chrt))
    # Taking a scheduler patches the kernel's code.
    with Machine(files=files, kernel=kernel, in_turns=True) as machine:
        for irq in machine.run("awk -F: '/eth0/ { print $1 }' /proc/interrupts").stdout.split():
            machine.write(f"/proc/irq/{irq}/smp_affinity_list", "0")
        yield machine


@contextmanager
def balancing(machine: Machine, command: str = START) -> Iterator[None]:
    """The balancer is the scheduler; the kernel's own is back afterwards."""
    machine.run(f"{command} >{OUT} 2>{SAID} &")
    try:
        await_state(machine, "enabled")
        yield
    finally:
        machine.run("killall -q bayop-idle-balance; true")
        await_state(machine, "disabled")


def await_state(machine: Machine, state: str, *, timeout_s: float = 5.0) -> None:
    ends = time.monotonic() + timeout_s
    while machine.read(STATE) != state:
        assert time.monotonic() < ends, machine.run(f"cat {SAID}").stdout
        time.sleep(0.1)


def entered_in(machine: Machine, duration_s: float) -> list[int]:
    before = entries_of_cpus(machine)
    time.sleep(duration_s)
    return [now - then for now, then in zip(entries_of_cpus(machine), before, strict=True)]


def windows(machine: Machine) -> Sequence[Sequence[Mapping[str, float]]]:
    """The rows of CPUs that were printed, by window."""
    return [json.loads(line)["cpus"] for line in machine.run(f"cat {OUT}").stdout.splitlines()]


def total(machine: Machine, name: str) -> list[float]:
    return [sum(window[cpu][name] for window in windows(machine)) for cpu in (0, 1)]


def assert_served(machine: Machine) -> None:
    with socket.create_connection(("127.0.0.1", machine.ports.memcached), timeout=10) as connection:
        connection.sendall(b"get absent\r\n")
        assert connection.recv(5) == b"END\r\n"


def test_work_gathers_on_the_first_cpu_and_the_other_sleeps_on(machine: Machine) -> None:
    with loaded(machine, 24.0):
        before = entered_in(machine, 5.0)
        with balancing(machine):
            during = entered_in(machine, 5.0)
        after = entered_in(machine, 5.0)
    print(f"idle entries of CPU 0 and 1 in 5 s: {before} before, {during} balanced, {after} after")
    assert during[1] < 0.4 * before[1]
    placed, spilled = total(machine, "placed"), total(machine, "spilled")
    assert placed[0] > 20 * placed[1]
    assert sum(placed) > 5 * sum(spilled)
    busy = total(machine, "utilization")
    assert busy[0] > busy[1]


def test_the_order_is_kept(machine: Machine) -> None:
    with loaded(machine, 8.0), balancing(machine, f"{PROGRAM} --order 1,0"):
        time.sleep(5.0)
    placed = total(machine, "placed")
    assert placed[1] > 20 * placed[0]


def test_what_a_cpu_has_no_room_for_goes_where_the_kernel_would_have_it(machine: Machine) -> None:
    with loaded(machine, 8.0), balancing(machine, f"{PROGRAM} --most-utilization 0.01"):
        time.sleep(5.0)
    assert sum(total(machine, "spilled")) > 100


def test_a_task_that_never_sleeps_is_seen_to_run(machine: Machine) -> None:
    with balancing(machine, f"{PROGRAM} --window-s 0.5"):
        machine.run("taskset 2 timeout 6 sh -c 'while :; do :; done'", check=False)
    busy = [window[1]["utilization"] for window in windows(machine)]
    assert sum(share > 0.95 for share in busy) >= 9, busy
    assert max(busy) <= 1.0


@pytest.mark.parametrize("signal", ["TERM", "KILL"])
def test_the_kernel_schedules_again_whatever_ends_it(machine: Machine, signal: str) -> None:
    with balancing(machine):
        machine.run(f"killall -{signal} bayop-idle-balance")
        await_state(machine, "disabled", timeout_s=1.0)
    assert_served(machine)


def test_it_ends_with_whoever_reads_it(machine: Machine) -> None:
    printed = machine.run(f"{PROGRAM} --window-s 0.2 | head -n 1").stdout
    assert len(json.loads(printed)["cpus"]) == 2
    await_state(machine, "disabled", timeout_s=1.0)


def test_a_task_that_waits_for_long_ends_it(machine: Machine) -> None:
    """Behind one of a class that comes first and never sleeps, and without what the kernel does against that."""
    server = f"{DEBUG}/sched/ext_server"
    with balancing(machine):
        machine.run(f"mount -t debugfs none {DEBUG}; grep . {server}/cpu*/runtime >/run/servers")
        machine.run(f"for cpu in {server}/cpu*; do echo 0 >$cpu/runtime; done")
        machine.run(
            "cat /proc/sys/kernel/sched_rt_runtime_us >/run/limit; echo -1 >/proc/sys/kernel/sched_rt_runtime_us"
        )
        spin = "chrt -f 50 taskset 2 sh -c 'while :; do :; done'"
        machine.run(f"taskset 1 timeout 9 {spin}", check=False, timeout_s=60)
        await_state(machine, "disabled", timeout_s=1.0)
        machine.run("cat /run/limit >/proc/sys/kernel/sched_rt_runtime_us")
        machine.run("while IFS=: read -r file runtime; do echo $runtime >$file; done </run/servers")
    assert machine.read(SAID) == (
        "error: the kernel ended the balancer: runnable task stall (sched_ext)\n"
        "hint: its own scheduler is back; dmesg has more"
    )
    assert_served(machine)


def test_a_cpu_that_goes_ends_it(machine: Machine) -> None:
    with balancing(machine):
        machine.run(f"echo 0 >{CPU}/cpu1/online")
        await_state(machine, "disabled", timeout_s=1.0)
        machine.run(f"echo 1 >{CPU}/cpu1/online")
    assert "error: the kernel ended the balancer: unregistered from the main kernel" in machine.read(SAID)


def test_of_two_the_second_is_refused(machine: Machine) -> None:
    with balancing(machine):
        second = machine.run(PROGRAM, check=False)
    assert (second.exit_code, second.stdout) == (4, "")
    assert second.stderr.startswith("error: the scheduler bayop_balance is in use; no other scheduler of eBPF must be")


@pytest.mark.parametrize(
    ("flags", "rule"),
    [
        ("--order 2", "cannot use '2': a CPU must be online (--order)"),
        ("--order 0,0", "a CPU must come once only: 0"),
        ("--order 0-", "CPUs must have numbers from 0 to 511"),
        ("--most-utilization 0", "it must be a number from 0.01 to 1"),
        ("--most-backlog 0", "0 is not in 1..=64"),
    ],
)
def test_what_can_not_be_meant_schedules_nothing(machine: Machine, flags: str, rule: str) -> None:
    refused = machine.run(f"{PROGRAM} {flags}", check=False)
    assert refused.exit_code == 2
    assert rule in refused.stderr
    assert machine.read(STATE) == "disabled"


def test_a_kernel_without_sched_ext_is_told_so(idle_balancer: Path) -> None:
    with new_machine(Files().add_program(PROGRAM, idle_balancer)) as machine:
        refused = machine.run(PROGRAM, check=False)
    assert refused.exit_code == 4
    assert "the kernel must take schedulers of eBPF (CONFIG_SCHED_CLASS_EXT)" in refused.stderr
