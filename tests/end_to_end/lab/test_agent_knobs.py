"""Every knob of the guest's kernel, set by the agent, read by other means and put back; why the others are missing."""

from __future__ import annotations

import pytest
from tests.end_to_end.lab.lab_agent import LabAgent, snapshot, until_link
from tests.end_to_end.lab.test_server import LOAD_PER_S, POLICIES, peak_rate_per_s, rx_usecs

from lab import Machine

pytestmark = pytest.mark.slow

CPU = "/sys/devices/system/cpu"
NET = "/sys/class/net/eth0"
PACKAGE = "/sys/class/powercap/intel-rapl:0"
DMA_LATENCY = "/dev/cpu_dma_latency"


def idle_states(*disabled: int) -> dict[str, str]:
    """The switches of all idle states of both CPUs with these disabled."""
    states = [(cpu, state) for cpu in range(2) for state in range(4)]
    return {f"{CPU}/cpu{cpu}/cpuidle/state{state}/disable": str(int(state in disabled)) for cpu, state in states}


def held_at(policy: str, freq_khz: str) -> dict[str, str]:
    """What a frequency policy shows that is held at a frequency."""
    return {
        f"{policy}/scaling_governor": "userspace",
        f"{policy}/scaling_setspeed": freq_khz,
        f"{policy}/scaling_cur_freq": freq_khz,
    }


# What is asked of a knob, and the kernel's files that then show it, in the kernel's units.
CASES: dict[str, tuple[float | str, dict[str, str]]] = {
    "cpu.freq_mhz": (1700, held_at(POLICIES[0], "1700000") | held_at(POLICIES[1], "1700000")),
    "cpu.freq_mhz@policy1": (
        2300,
        held_at(POLICIES[1], "2300000") | {f"{POLICIES[0]}/scaling_governor": "schedutil"},
    ),
    "idle.max_latency_us": (100, {f"{CPU}/cpu{cpu}/power/pm_qos_resume_latency_us": "100" for cpu in range(2)}),
    "idle.cpu_dma_latency_us": (50, {DMA_LATENCY: "50"}),
    "idle.governor": ("ladder", {f"{CPU}/cpuidle/current_governor": "ladder"}),
    "idle.disable@C3": ("on", idle_states(3)),
    "idle.disable": ("on", idle_states(0, 1, 2, 3)),
    "power.cap_w@intel-rapl:0/0": (35.5, {f"{PACKAGE}/constraint_0_power_limit_uw": "35500000"}),
    "power.cap_w": (40, {f"{PACKAGE}/constraint_{number}_power_limit_uw": "40000000" for number in range(2)}),
    "power.cap_window_us@intel-rapl:0/0": (250_000, {f"{PACKAGE}/constraint_0_time_window_us": "250000"}),
    "napi.gro_flush_timeout_us": (20, {f"{NET}/gro_flush_timeout": "20000"}),
    "napi.defer_hard_irqs": (2, {f"{NET}/napi_defer_hard_irqs": "2"}),
}


def kernel_value(machine: Machine, path: str) -> str:
    return machine.run(f"od -An -td4 -N4 {path}" if path == DMA_LATENCY else f"cat {path}").stdout.strip()


@pytest.mark.parametrize("knob", CASES)
def test_a_knob_is_set_shown_by_the_kernel_and_restored(machine: Machine, agent: LabAgent, knob: str) -> None:
    value, files = CASES[knob]
    original = snapshot(machine)
    lease = agent.hold({knob: value})
    assert {path: kernel_value(machine, path) for path in files} == files
    held = agent.status()["held"]
    assert {held_knob["knob"].partition("@")[0] for held_knob in held} == {knob.partition("@")[0]}
    assert all((each["requested"], each["effective"], each["state"]) == (value, value, "held") for each in held)
    restored = agent.post("/v1/release", {"lease": lease, "keep": False})
    assert restored["restored"] == sorted(each["knob"] for each in held)
    assert snapshot(machine) == original


@pytest.mark.timeout(400)
def test_receive_interrupts_become_rarer_with_rx_usecs(machine: Machine, agent: LabAgent) -> None:
    found_us = rx_usecs(machine)
    lease = agent.hold({"nic.rx_usecs": 0})
    # A busy host makes interrupts rarer too, 400/s without a delay: it is the driver's longest that shows beside that.
    peaks_per_s = {0: 0.0, 10_000: 0.0}
    for _ in range(5):
        for value, peak_per_s in peaks_per_s.items():
            (change,) = agent.apply(lease, {"nic.rx_usecs": value})["changes"]
            assert (change["effective"], rx_usecs(machine)) == (value, value)
            until_link(machine)
            peaks_per_s[value] = max(peak_per_s, peak_rate_per_s(machine))
        if peaks_per_s[0] > 2 * peaks_per_s[10_000]:
            break
    else:
        pytest.fail(f"interrupts/s by rx_usecs, at {LOAD_PER_S} requests/s: {peaks_per_s}")
    print("interrupts/s by rx_usecs:", {value: round(peak_per_s) for value, peak_per_s in peaks_per_s.items()})
    assert agent.post("/v1/release", {"lease": lease})["restored"] == ["nic.rx_usecs@eth0"]
    assert rx_usecs(machine) == found_us
    until_link(machine)


# Why the kernel does not offer a knob, and a command that shows it.
MISSING = {
    "nic.rx_frames": ("no network driver has rx-frames", "ethtool -c eth0 | grep -q 'rx-frames:.*n/a'"),
    "nic.tx_usecs": ("no network driver has tx-usecs", "ethtool -c eth0 | grep -q 'tx-usecs:.*n/a'"),
    "nic.adaptive_rx": ("no network driver has adaptive-rx", "ethtool -c eth0 | grep -q 'Adaptive RX: n/a'"),
    "nic.combined_queues": ("does not tell its indirection table", "! ethtool -x eth0"),
    "cpu.epp": ("no energy-performance preference", f"! test -e {POLICIES[0]}/energy_performance_preference"),
    "cpu.boost": ("does not let boost be switched", f"! test -e {CPU}/cpufreq/boost"),
    "cpu.perf_ctl_mhz": (  # MSR_PLATFORM_INFO: QEMU says nothing about ratios
        "the register must say the least and greatest ratio",
        "test $(dd if=/dev/cpu/0/msr bs=8 count=1 skip=206 iflag=skip_bytes 2>/dev/null | od -An -td8) = 0",
    ),
    "napi.irq_suspend_timeout_us": ("6.13 for queues", "uname -r | grep -q '^6\\.[0-9]\\.\\|^6\\.1[0-2]\\.'"),
}


def test_what_the_kernel_does_not_offer_is_missing_and_says_why(machine: Machine, agent: LabAgent) -> None:
    knobs = agent.request("GET", "/v1/knobs")
    offered = {knob["id"] for knob in knobs["knobs"]}
    assert offered == {knob.partition("@")[0] for knob in CASES} | {"nic.rx_usecs"}, "every knob is tested here"
    missing = {each["id"]: each["error"] for each in knobs["missing"]}
    assert missing.keys() == MISSING.keys()
    lease = agent.post("/v1/lease", {"holder": "test", "ttl_s": 60})["lease"]
    for knob, (why, proof) in MISSING.items():
        assert why in f"{missing[knob]['wrong']} {missing[knob]['rule']} {missing[knob]['hint']}"
        assert machine.run(proof, check=False).exit_code == 0, proof
        error = agent.apply(lease, {knob: 1})["error"]
        assert (error["kind"], error["wrong"]) == ("unsupported", missing[knob]["wrong"])
