"""What else turns knobs on real servers: TuneD's daemon and irqbalance beside the agent, on a machine of their own."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from tests.end_to_end.lab.conftest import new_machine
from tests.end_to_end.lab.lab_agent import LabAgent, snapshot, until_link
from tests.end_to_end.lab.rivals import end, start_tuned, with_rivals
from tests.support.patience import eventually

from lab import Files, Machine
from lab.agent import Access

pytestmark = [pytest.mark.slow, pytest.mark.weekly]

FREQ = {"cpu.freq_mhz@policy0", "cpu.freq_mhz@policy1"}
SETTING: dict[str, float | str] = {
    "cpu.freq_mhz": 1700, "idle.disable@C3": "on", "power.cap_w@intel-rapl:0/0": 30, "nic.rx_usecs@eth0": 100,
}  # fmt: skip
OTHERS = SETTING.keys() - {"cpu.freq_mhz"}
PROFILE = "latency-performance"  # governor performance, and a request of 2 us to /dev/cpu_dma_latency
GOVERNORS = "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor"
NIC_IRQS = "$(sed -n 's/^ *\\([0-9]*\\):.* eth0-.*/\\1/p' /proc/interrupts)"


@pytest.fixture(scope="module")
def machine(contents: tuple[Files, Access]) -> Iterator[Machine]:
    with new_machine(with_rivals(contents[0])) as machine:
        yield machine


def governors(machine: Machine) -> set[str]:
    """The governors of all CPUs."""
    return set(machine.run(f"cat {GOVERNORS}").stdout.split())


def states(agent: LabAgent) -> dict[str, str]:
    """How every knob stands that is held or was."""
    return {held["knob"]: held["state"] for held in agent.status()["held"]}


def rivals(machine: Machine) -> str:
    """What the doctor says of rivals, a line each."""
    return machine.run("bayop-agent doctor | grep rival").stdout


def test_tuned_that_comes_while_bayop_holds_has_what_it_turns_and_nothing_else(
    machine: Machine, agent: LabAgent
) -> None:
    original = snapshot(machine)
    assert "none" in rivals(machine)
    lease = agent.hold(SETTING)
    start_tuned(machine, PROFILE)
    try:
        assert eventually(lambda: {states(agent)[knob] for knob in FREQ} == {"stood_down"}, within_s=10)
        assert {states(agent)[knob] for knob in OTHERS} == {"held"}
        reasons = [str(held["reason"]) for held in agent.status()["held"] if held["knob"] in FREQ]
        assert all("changed from userspace to performance, which was not BayOp's doing" in each for each in reasons)
        error = agent.apply(lease, {"cpu.freq_mhz": 1900})["error"]
        assert (error["kind"], error["place"] in FREQ) == ("conflict", True)
        released = agent.post("/v1/release", {"lease": lease})
        assert (set(released["restored"]), set(released["stood_down"])) == (OTHERS, FREQ)
        assert governors(machine) == {"performance"}
    finally:
        end(machine, "tuned")
    # TuneD puts back what it has found, which was BayOp's: who ends first has to have come last.
    assert governors(machine) == {"userspace"}
    machine.run(f"for governor in {GOVERNORS}; do echo schedutil >$governor; done")
    assert snapshot(machine) == original
    until_link(machine)


def test_tuned_that_was_there_first_is_named_by_the_doctor_and_has_its_own_back(
    machine: Machine, agent: LabAgent
) -> None:
    original = snapshot(machine)
    start_tuned(machine, PROFILE)
    try:
        assert rivals(machine).split()[:4] == ["note", "rival", "tuned", "running"]
        tuned = snapshot(machine)
        lease = agent.hold(SETTING)
        time.sleep(12)  # TuneD looks at its devices every ten seconds
        assert set(states(agent).values()) == {"held"}
        assert set(agent.post("/v1/release", {"lease": lease})["restored"]) == OTHERS | FREQ
        assert snapshot(machine) == tuned
    finally:
        end(machine, "tuned")
    assert snapshot(machine) == original
    until_link(machine)


def test_irqbalance_moves_interrupts_and_no_knob(machine: Machine, agent: LabAgent) -> None:
    original = snapshot(machine)
    affinity = f"for irq in {NIC_IRQS}; do cat /proc/irq/$irq/smp_affinity_list; done"
    machine.run(f"for irq in {NIC_IRQS}; do echo 0-1 >/proc/irq/$irq/smp_affinity_list; done")
    lease = agent.hold(SETTING)
    machine.run("irqbalance --foreground --interval 1 >/dev/null 2>&1 &")
    try:
        assert eventually(lambda: "0-1" not in machine.run(affinity).stdout.split(), within_s=30), "it has moved none"
        assert rivals(machine).split()[:4] == ["note", "rival", "irqbalance", "running"]
        time.sleep(2.5)
        assert set(states(agent).values()) == {"held"}
    finally:
        end(machine, "irqbalance")
    assert set(agent.post("/v1/release", {"lease": lease})["restored"]) == OTHERS | FREQ
    assert snapshot(machine) == original
    until_link(machine)
