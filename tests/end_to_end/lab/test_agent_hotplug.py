"""A CPU goes offline while its frequency is held: the rest is restored, and the CPU too when it is back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.end_to_end.lab.lab_agent import JOURNAL, LabAgent, snapshot
from tests.support.patience import eventually

from lab import Machine

pytestmark = pytest.mark.slow

FREQ = "cpu.freq_mhz@policy1"
OTHERS = {"cpu.freq_mhz@policy0", "idle.disable@C3"}
SETTING: dict[str, float | str] = {"cpu.freq_mhz": 1700, "idle.disable@C3": "on"}
ONLINE = "/sys/devices/system/cpu/cpu1/online"


@contextmanager
def offline(machine: Machine) -> Iterator[None]:
    """CPU 1 is offline: its policy's files stay, and refuse whatever is asked of them."""
    machine.write(ONLINE, "0")
    try:
        yield
    finally:
        machine.write(ONLINE, "1")


def hold(agent: LabAgent) -> str:
    """Holds the setting as a search does, which first asks what the machine has; returns the lease."""
    agent.request("GET", "/v1/knobs")
    return agent.hold(SETTING)


def states(agent: LabAgent) -> dict[str, str]:
    """How every knob stands that is held or was."""
    return {held["knob"]: held["state"] for held in agent.status()["held"]}


def reason(agent: LabAgent) -> str:
    """Why the frequency of CPU 1 is not simply held."""
    return next(str(held["reason"]) for held in agent.status()["held"] if held["knob"] == FREQ)


def test_the_rest_is_restored_and_the_frequency_when_the_cpu_is_back(machine: Machine, agent: LabAgent) -> None:
    original = snapshot(machine)
    lease = hold(agent)
    with offline(machine):
        assert eventually(lambda: states(agent)[FREQ] == "latched", within_s=10)
        assert "cpufreq/policy1" in reason(agent)
        assert "device or resource busy" in reason(agent)
        assert {knob for knob, state in states(agent).items() if state == "held"} == OTHERS
        released = agent.post("/v1/release", {"lease": lease})
        assert set(released["restored"]) == OTHERS
        assert [latched["knob"] for latched in released["latched"]] == [FREQ]
        left = set(snapshot(machine)) ^ set(original)
        assert left
        assert all("cpufreq/policy1/" in line for line in left), "all but what can't be read is as found"
    # Nobody has to ask for it.
    assert eventually(lambda: states(agent) == {}, within_s=70)
    assert snapshot(machine) == original


def test_an_agent_that_is_killed_meanwhile_restores_all_the_same(machine: Machine, agent: LabAgent) -> None:
    original = snapshot(machine)
    hold(agent)
    with offline(machine):
        agent.end("KILL")
        restore = machine.run("bayop-agent restore", check=False)
        assert restore.exit_code == 3
        assert FREQ in restore.stdout
        agent.start()
        assert states(agent) == {FREQ: "latched"}
    assert eventually(lambda: states(agent) == {}, within_s=70)
    assert machine.run(f"test -e {JOURNAL}", check=False).exit_code == 1
    assert snapshot(machine) == original


def test_a_cpu_that_comes_back_while_its_frequency_is_held_is_restored_by_the_release(
    machine: Machine, agent: LabAgent
) -> None:
    original = snapshot(machine)
    lease = hold(agent)
    with offline(machine):
        pass
    # The kernel has put the governor back, with the speed that the CPU happens to have.
    released = agent.post("/v1/release", {"lease": lease})
    assert released["latched"] == []
    assert set(released["restored"]) | set(released["stood_down"]) == OTHERS | {FREQ}
    assert not set(released["restored"]) & set(released["stood_down"])
    assert snapshot(machine) == original


def test_the_other_cpus_are_tuned_while_one_is_offline(machine: Machine, agent: LabAgent) -> None:
    with offline(machine):
        lease = hold(agent)
        assert set(states(agent)) == OTHERS
        assert set(agent.post("/v1/release", {"lease": lease})["restored"]) == OTHERS
