"""What goes wrong on real machines: each time the guest is as found, or the knob is reported and latched."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.end_to_end.lab.lab_agent import JOURNAL, LabAgent, snapshot, until_link
from tests.end_to_end.lab.test_server import rx_usecs
from tests.support.patience import eventually

from lab import Machine

pytestmark = pytest.mark.slow

CAP = "power.cap_w@intel-rapl:0/0"
LIMIT = "/sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw"
NIC = "nic.rx_usecs@eth0"
FREQ = "cpu.freq_mhz@policy0"
# A knob of each kind of control: powercap, netlink and a driver's reset, cpufreq's files that depend on each other.
SETTING: dict[str, float | str] = {CAP: 30, NIC: 100, FREQ: 1700, "idle.disable@C3": "on"}


def states(agent: LabAgent) -> dict[str, str]:
    """How every knob stands that is held or was."""
    return {held["knob"]: held["state"] for held in agent.status()["held"]}


@contextmanager
def full_disk(machine: Machine) -> Iterator[None]:
    """No room in /var/lib, where the journal is."""
    free = "$(stat -f -c %f /var/lib)k"  # its blocks are of 1 KiB
    machine.run(f"fallocate -l {free} /var/lib/filler; dd if=/dev/zero of=/var/lib/rest 2>/dev/null", check=False)
    assert machine.run("echo more >/var/lib/more", check=False).exit_code != 0
    try:
        yield
    finally:
        machine.run("rm -f /var/lib/filler /var/lib/rest /var/lib/more")


@contextmanager
def read_only(machine: Machine, path: str) -> Iterator[None]:
    """A file that even root can't write."""
    path = machine.run(f"realpath {path}").stdout.strip()  # as /proc/mounts has it
    machine.run(f"mount --bind {path} {path} && mount -o remount,ro,bind {path}")
    try:
        yield
    finally:
        machine.run(f"umount {path}")


def test_a_silent_brain_s_lease_ends_and_the_machine_is_as_found(machine: Machine, agent: LabAgent) -> None:
    original = snapshot(machine)
    agent.hold(SETTING, ttl_s=6)
    assert snapshot(machine) != original
    assert eventually(lambda: not agent.status()["held"], within_s=30)
    assert snapshot(machine) == original
    assert agent.status()["lease"] is None


def test_a_driver_s_refusal_takes_the_whole_setting_back(machine: Machine, agent: LabAgent) -> None:
    original = snapshot(machine)
    lease = agent.post("/v1/lease", {"holder": "test", "ttl_s": 60})["lease"]
    # The driver takes 10 W at least, which powercap does not tell: the frequency is written before it is refused.
    error = agent.apply(lease, {FREQ: 1300, CAP: 5})["error"]
    assert (error["kind"], error["place"]) == ("unsupported", CAP)
    assert LIMIT in error["wrong"]
    assert "no data available" in error["wrong"]
    assert snapshot(machine) == original
    assert states(agent) == {}


def test_a_full_disk_means_nothing_is_written_and_restoring_needs_no_room(machine: Machine, agent: LabAgent) -> None:
    original = snapshot(machine)
    lease = agent.post("/v1/lease", {"holder": "test", "ttl_s": 600})["lease"]
    with full_disk(machine):
        error = agent.apply(lease, SETTING)["error"]
        assert "no space left" in error["wrong"], error
        assert snapshot(machine) == original
        assert states(agent) == {}
    assert "error" not in agent.apply(lease, SETTING)
    changed = snapshot(machine)
    with full_disk(machine):
        assert "no space left" in agent.apply(lease, {CAP: 40})["error"]["wrong"]
        assert snapshot(machine) == changed
        assert sorted(agent.post("/v1/release", {"lease": lease})["restored"]) == sorted(SETTING)
        assert snapshot(machine) == original


def test_a_killed_agent_s_machine_is_restored_on_a_full_disk(machine: Machine, agent: LabAgent) -> None:
    original = snapshot(machine)
    agent.hold(SETTING)
    with full_disk(machine):
        agent.end("KILL")
        assert snapshot(machine) != original
        agent.start()
        assert snapshot(machine) == original
    assert states(agent) == {}


def test_a_control_that_became_unwritable_is_latched_reported_and_restored_later(
    machine: Machine, agent: LabAgent
) -> None:
    original = snapshot(machine)
    lease = agent.hold(SETTING)
    with read_only(machine, LIMIT):
        released = agent.post("/v1/release", {"lease": lease})
        assert sorted(released["restored"]) == sorted(SETTING.keys() - {CAP})
        assert [latched["knob"] for latched in released["latched"]] == [CAP]
        assert "read-only file system" in released["latched"][0]["reason"]
        different = set(snapshot(machine)) ^ set(original)
        assert different == {f"{LIMIT}:30000000", f"{LIMIT}:60000000"}, "all but the one knob is as found"
        # It is not forgotten, and not written: neither by whoever comes next, nor by a killed agent's next start.
        agent.end("KILL")
        agent.start()
        assert states(agent) == {CAP: "latched"}
        assert machine.run(f"test -e {JOURNAL}", check=False).exit_code == 0
        lease = agent.post("/v1/lease", {"holder": "test", "ttl_s": 60})["lease"]
        error = agent.apply(lease, {CAP: 50})["error"]
        assert (error["kind"], error["place"]) == ("conflict", CAP)
        assert machine.run("bayop-agent restore --print").stdout == f"echo 60000000 > {LIMIT}\n"
    assert agent.post("/v1/restore", {})["restored"] == [CAP]
    assert snapshot(machine) == original


def test_a_nic_that_goes_while_it_is_held_is_latched_and_as_found_when_it_is_back(
    machine: Machine, agent: LabAgent
) -> None:
    found_us, original = rx_usecs(machine), snapshot(machine)
    lease = agent.hold(SETTING)
    machine.remove_nic()
    try:
        released = agent.post("/v1/release", {"lease": lease})
        assert sorted(released["restored"]) == sorted(SETTING.keys() - {NIC})
        assert [latched["knob"] for latched in released["latched"]] == [NIC]
        assert states(agent) == {NIC: "latched"}
    finally:
        machine.restore_nic()
    # Nobody has to ask for it.
    assert eventually(lambda: states(agent) == {}, within_s=70)
    assert rx_usecs(machine) == found_us
    assert snapshot(machine) == original
    until_link(machine)


def test_a_nic_that_comes_back_while_it_is_held_is_not_taken_over_again(machine: Machine, agent: LabAgent) -> None:
    original = snapshot(machine)
    lease = agent.hold(SETTING)
    machine.remove_nic()
    machine.restore_nic()
    # By what the agent saw: no card, or a card with a driver that starts from its defaults.
    assert eventually(lambda: states(agent)[NIC] in {"latched", "stood_down"}, within_s=10)
    released = agent.post("/v1/release", {"lease": lease})
    assert released["latched"] == []
    assert snapshot(machine) == original
    until_link(machine)


def test_after_a_power_cut_the_machine_is_as_found_and_nothing_is_left_to_restore(
    machine: Machine, agent: LabAgent
) -> None:
    original = snapshot(machine)
    lease = agent.hold(SETTING)
    assert machine.run(f"test -e {JOURNAL}", check=False).exit_code == 0
    boot_id = agent.status()["boot_id"]
    # The power goes while the agent writes one setting after the other.
    agent.apply_forever(lease, [{CAP: 40, FREQ: 1300}, {CAP: 50, FREQ: 2900}])
    time.sleep(0.5)
    machine.power_cut()
    agent.ensure_running()
    assert agent.status()["boot_id"] != boot_id
    assert states(agent) == {}
    assert agent.status()["damage"] is None
    assert machine.run(f"test -e {JOURNAL}", check=False).exit_code == 1
    assert snapshot(machine) == original
    agent.post("/v1/release", {"lease": agent.hold(SETTING)})


def test_people_of_the_agent_s_group_get_in_and_nobody_else(machine: Machine, agent: LabAgent) -> None:
    request = r"printf \"GET /v1/status HTTP/1.1\r\nhost: agent\r\nconnection: close\r\n\r\n\""
    for person, code in (("operator", 0), ("nobody", 1)):
        result = machine.run(f'su {person} -c "{request} | nc.openbsd -U /run/bayop/agent.sock"', check=False)
        assert ("200 OK" in result.stdout, result.exit_code) == (code == 0, code), result
    assert agent.status()["lease"] is None
