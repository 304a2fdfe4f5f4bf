"""SIGKILL at every step of every write in the guest, and what a restore makes of it there: the machine is as found."""

from __future__ import annotations

import pytest
from tests.end_to_end.lab.lab_agent import JOURNAL, SNAPSHOT, SOCKET, START, LabAgent, snapshot

from lab import Machine

# Every step on a recorded machine is played with each `make test`: crates/agent/tests/crash.rs.
pytestmark = [pytest.mark.slow, pytest.mark.weekly]

STEPS = "/run/steps"
PATIENCE_S = 120

# A life comes to every kind of write: it applies knobs of every kind of control (sysfs files, netlink), applies others
# on top while it hands one back, and releases. `hold` stops after the first setting. Both go on when the agent dies.
LIFE = rf"""
post() {{
    printf 'POST %s HTTP/1.1\r\nhost: agent\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s' "$1" ${{#2}} "$2" |
        nc.openbsd -U {SOCKET} 2>/dev/null
}}
apply() {{ post /v1/apply "{{\"lease\": \"$lease\", \"setting\": $1}}"; }}
hold() {{
    lease=$(post /v1/lease '{{"holder": "test", "ttl_s": 600}}' | sed -n 's/.*"lease":"\([^"]*\)".*/\1/p')
    apply '{{"nic.rx_usecs": 100, "cpu.freq_mhz@policy0": 1700,
             "power.cap_w@intel-rapl:0/0": 30, "idle.disable@C3": "on"}}'
}}
live() {{
    hold
    apply '{{"nic.rx_usecs": "auto", "cpu.freq_mhz@policy0": 1300, "idle.governor": "ladder"}}'
    post /v1/release "{{\"lease\": \"$lease\"}}"
    kill -TERM $agent
}}
killed() {{ wait $agent; [ $? = 137 ]; }}
"""
PREAMBLE = START + LIFE


@pytest.fixture
def original(machine: Machine, agent: LabAgent) -> list[str]:
    """The machine as it is without an agent, which can be told to die."""
    assert agent.status()["version"].endswith("+fault-points"), (
        "BAYOPTEST_AGENT_PROGRAM was built with --features fault-points"
    )
    agent.end()
    return snapshot(machine)


def steps(machine: Machine, script: str) -> list[str]:
    """The steps that a script's agent comes to, as `NAME:N`, in their order; it is told to note them."""
    machine.run(f"rm -f {STEPS}; {PREAMBLE} {script}", timeout_s=PATIENCE_S)
    return machine.read(STEPS).splitlines()


def assert_restored(machine: Machine, original: list[str], how: str) -> None:
    """After a restore, everything is as it was found, and nothing is left to restore."""
    result = machine.run(
        f"bayop-agent restore && test ! -e {JOURNAL} && {{ {SNAPSHOT} }}", check=False, timeout_s=PATIENCE_S
    )
    assert result.exit_code == 0, f"{how}: {result.stdout}{result.stderr}"
    lines = [line for line in result.stdout.splitlines() if not line.startswith(("restored  ", "nothing to restore"))]
    assert lines == original, how


@pytest.mark.timeout(600)
def test_whatever_step_an_agent_is_killed_at_a_restore_puts_everything_back(
    machine: Machine, original: list[str]
) -> None:
    every = steps(machine, f"start BAYOP_FAULT_LOG={STEPS} && live && wait $agent")
    assert snapshot(machine) == original
    for step in every:
        machine.run(f"{PREAMBLE} start BAYOP_FAULT={step} && live; killed", timeout_s=PATIENCE_S)
        assert_restored(machine, original, f"killed at {step}")
    names = {step.partition(":")[0] for step in every}
    print(f"{len(every)} points ({len(names)} names), as many cases")
    assert {"apply.before_write", "apply.after_write", "restore.before_write", "file.half_written"} <= names


@pytest.mark.timeout(600)
def test_whatever_step_a_restore_is_killed_at_the_next_one_puts_everything_back(
    machine: Machine, original: list[str]
) -> None:
    hold = "start && hold && kill -KILL $agent && killed"
    every = steps(machine, f"{hold} && BAYOP_FAULT_LOG={STEPS} bayop-agent restore")
    assert snapshot(machine) == original
    for step in every:
        machine.run(f"{PREAMBLE} {hold}; BAYOP_FAULT={step} bayop-agent restore; [ $? = 137 ]", timeout_s=PATIENCE_S)
        assert_restored(machine, original, f"restore killed at {step}")
    names = {step.partition(":")[0] for step in every}
    print(f"{len(every)} points ({len(names)} names), as many cases")
    assert {"release.after_journal", "restore.before_write", "restore.after_write", "file.before_remove"} <= names
