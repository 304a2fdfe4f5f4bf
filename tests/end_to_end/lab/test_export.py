"""What `bayop export` writes, on a kernel: Debian's TuneD takes the profile, the script sets an e1000e, both undo.

Debian's udev takes the .link file.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.end_to_end.lab.conftest import new_machine
from tests.end_to_end.lab.lab_agent import snapshot, until_link
from tests.end_to_end.lab.rivals import end, start_tuned, with_rivals

from bayop import _core
from bayop.export import link, script, spell, tuned
from lab import Files, Machine
from lab.agent import Access
from lab.packages import TREE, program

pytestmark = [pytest.mark.slow, pytest.mark.weekly]

POLICY = "/sys/devices/system/cpu/cpufreq/policy0"
SETTING = {
    "nic.rx_usecs@eth0": 100.0,
    "cpu.freq_mhz": 1700.0,
    "idle.max_latency_us": 50.0,
    "power.cap_w@intel-rapl:0/0": 30.0,
}
IN_EFFECT = {
    f"{POLICY}/scaling_min_freq": "1700000",
    f"{POLICY}/scaling_max_freq": "1700000",
    "/sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us": "50",
    "/sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw": "30000000",
}
SCRIPT = "/root/setting.sh"
RULES = ("lib/udev/rules.d/75-net-description.rules", "lib/udev/rules.d/80-net-setup-link.rules")
"""With which udev knows names for devices, and looks at .link files."""


@pytest.fixture(scope="module")
def machine(contents: tuple[Files, Access]) -> Iterator[Machine]:
    files = with_rivals(contents[0])
    spelled = spell(SETTING, _core.knob_spellings())
    for name, text in tuned(spelled).items():
        files.add(f"/etc/tuned/bayop/{name}", text, mode=0o755 if name.endswith(".sh") else 0o644)
    files.add(SCRIPT, script(spelled), mode=0o755)
    files.add_program("/usr/bin/udevadm", program("udevadm"))
    for rule in RULES:
        files.add(f"/{rule}", TREE / rule)
    delay = spell({"nic.rx_usecs@eth0": 100.0}, _core.knob_spellings())
    files.add("/etc/systemd/network/50-bayop-eth0.link", link(delay))
    with new_machine(files) as machine:
        yield machine


def in_effect(machine: Machine) -> dict[str, str]:
    delay = machine.run("ethtool -c eth0 | sed -n 's/^rx-usecs:[[:space:]]*//p'").stdout.strip()
    return {"delay": delay} | {path: machine.read(path).strip() for path in IN_EFFECT}


def test_tuned_applies_the_profile_and_puts_back_what_it_has_found(machine: Machine) -> None:
    original = snapshot(machine)
    start_tuned(machine, "bayop")
    try:
        assert in_effect(machine) == {"delay": "100"} | IN_EFFECT
        log = machine.read("/run/tuned.log")
        assert [line for line in log.splitlines() if " ERROR " in line] == []
    finally:
        end(machine, "tuned")
    until_link(machine)
    assert snapshot(machine) == original


def test_the_script_applies_and_undoes_with_the_guest_s_shell_and_ethtool(machine: Machine) -> None:
    original = snapshot(machine)
    machine.run(f"sh {SCRIPT} apply")
    assert in_effect(machine) == {"delay": "100"} | IN_EFFECT
    machine.run(f"sh {SCRIPT} verify")
    machine.run("ethtool -C eth0 rx-usecs 50")
    assert "rx-usecs of eth0 is 50 and not 100" in machine.run(f"sh {SCRIPT} verify 2>&1 || true").stdout
    machine.run(f"sh {SCRIPT} undo")
    until_link(machine)
    assert snapshot(machine) == original


def test_udev_sets_the_delay_of_the_link_file_and_no_name(machine: Machine) -> None:
    found = machine.run("ethtool -c eth0 | sed -n 's/^rx-usecs:[[:space:]]*//p'").stdout.strip()
    machine.run("ifconfig eth0 down && ln -s udevadm /usr/bin/systemd-udevd && systemd-udevd --daemon")
    machine.run("udevadm trigger --action=add /sys/class/net/eth0 && udevadm settle && udevadm control --exit")
    try:
        assert in_effect(machine)["delay"] == "100"
    finally:
        machine.run(f"ethtool -C eth0 rx-usecs {found}")
