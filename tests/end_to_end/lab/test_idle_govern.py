"""`bayop idle govern` on Debian's 6.1: real idle states, a real governor, the real counter, and memcached's load."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.end_to_end.lab.conftest import new_machine
from tests.end_to_end.lab.idle_states import CPU, entered_in, entries
from tests.end_to_end.lab.lab_agent import LabAgent
from tests.end_to_end.lab.memcached_load import loaded

from bayop.live.agent.lease import TTL_S
from lab import Files, Machine
from lab.agent import Access, add_agent

pytestmark = pytest.mark.slow

PROGRAM = "/usr/bin/bayop-idle-count"
SOCKET = "/run/bayop/idle-counter.sock"
_LISTEN = f"""
mkfifo /run/counted
while true; do
    rm -f {SOCKET}
    nc.openbsd -lU {SOCKET} </run/counted | {PROGRAM} --asked >/run/counted
done >/dev/null 2>&1 &
"""
"""What starts a counter for a connection, one at a time, in place of systemd."""


@pytest.fixture(scope="module")
def server(
    agent_binary: Path, idle_counter: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Machine, LabAgent]]:
    """A machine with the agent and the counter."""
    files = Files().add_program(PROGRAM, idle_counter)
    access: Access = add_agent(files, agent_binary, tmp_path_factory.mktemp("certificates"))
    with new_machine(files) as machine:
        agent = LabAgent(machine, access)
        agent.ensure_running()
        machine.run(_LISTEN)
        yield machine, agent


@contextmanager
def governing(agent: LabAgent, *words: str) -> Iterator[subprocess.Popen[str]]:
    """The verb, on an agent that counts."""
    flags = ["--agent", agent.address, *agent.flags, "--window", "500ms", "--json"]
    command = [sys.executable, "-m", "bayop", "idle", "govern", *flags, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def limits(machine: Machine) -> list[str]:
    return machine.run(f"cat {CPU}/cpu*/power/pm_qos_resume_latency_us").stdout.split()


def await_limits(machine: Machine, *expected: str, timeout_s: float) -> None:
    ends = time.monotonic() + timeout_s
    while (found := limits(machine)) != list(expected):
        assert time.monotonic() < ends, found
        time.sleep(0.2)


def test_what_is_counted_is_what_the_kernel_counts(server: tuple[Machine, LabAgent]) -> None:
    """Also where only every second stay is timed."""
    machine, _ = server
    with loaded(machine, 8.0):
        before = entries(machine)
        lines = machine.run(f"{PROGRAM} --window-s 5 --windows 1", timeout_s=60).stdout.splitlines()
        kernel = {name: count - before[name] for name, count in entries(machine).items()}
    names = [name for name, *_ in json.loads(lines[0])["states"]]
    counted = dict.fromkeys(names, 0)
    for _, state, _, stays in json.loads(lines[1])["stays"]:
        counted[names[state]] += stays
    assert sum(counted.values()) > 2 * 256
    # The kernel counts before and after the window too.
    assert 0.75 < sum(counted.values()) / sum(kernel.values()) < 1.02
    assert counted["C3"] / sum(counted.values()) == pytest.approx(kernel["C3"] / sum(kernel.values()), abs=0.1)


def test_no_cpu_sleeps_deeper_than_its_limit_and_all_do_again_afterwards(
    server: tuple[Machine, LabAgent],
) -> None:
    machine, agent = server
    with loaded(machine, 25.0):
        free = entered_in(machine, 5.0)
        with governing(agent, "--limit", "60us") as process:
            await_limits(machine, "50", "50", timeout_s=30.0)
            limited = entered_in(machine, 5.0)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=30)
        await_limits(machine, "0", "0", timeout_s=1.0)
        again = entered_in(machine, 5.0)
    assert [(event["cpu"], event["state"]) for event in sorted(map(json.loads, out.splitlines()), key=_cpu)] == [
        (0, "C2"),
        (1, "C2"),
    ]
    assert min(free["C3"], again["C3"]) > 200
    assert limited["C3"] == 0
    assert limited["C2"] > 2 * free["C2"]


def test_a_verb_that_is_killed_leaves_its_limits_no_longer_than_its_lease(
    server: tuple[Machine, LabAgent],
) -> None:
    machine, agent = server
    with loaded(machine, 15.0), governing(agent, "--limit", "60us") as process:
        await_limits(machine, "50", "50", timeout_s=30.0)
        process.kill()
        process.wait()
        await_limits(machine, "0", "0", timeout_s=TTL_S + 5.0)
    assert agent.status()["lease"] is None


def test_an_agent_that_is_killed_leaves_limits_that_its_next_start_takes_back(
    server: tuple[Machine, LabAgent],
) -> None:
    """Nobody gives limits of a file back but who has written them, and knows it from the journal."""
    machine, agent = server
    with loaded(machine, 20.0), governing(agent, "--limit", "60us") as process:
        await_limits(machine, "50", "50", timeout_s=30.0)
        agent.end("KILL")
        process.communicate(timeout=30)
        assert process.returncode != 0
        assert limits(machine) == ["50", "50"]
        agent.ensure_running()
        assert limits(machine) == ["0", "0"]
    assert agent.status()["lease"] is None


def test_a_counter_that_is_killed_is_replaced(server: tuple[Machine, LabAgent]) -> None:
    machine, agent = server
    with loaded(machine, 15.0), governing(agent, "--limit", "60us") as process:
        await_limits(machine, "50", "50", timeout_s=30.0)
        began_s = agent.client.idle_stays().began_s
        machine.run("killall -KILL bayop-idle-count")
        time.sleep(3.0)
        assert agent.client.idle_stays().began_s > began_s
        assert limits(machine) == ["50", "50"]
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
        await_limits(machine, "0", "0", timeout_s=1.0)
    assert (process.returncode, said) == (143, "")


def _cpu(event: dict[str, int]) -> int:
    return event["cpu"]
