"""`bayop tune` and `bayop doctor` against the agent in the lab, over mutual TLS, as people run them."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import product

import pytest
from tests.end_to_end.lab.lab_agent import LabAgent, snapshot, until_link
from tests.support.patience import eventually

from bayop.live.agent.lease import TTL_S
from lab import Machine
from lab.power_law import meter_power_w

pytestmark = pytest.mark.slow

RX_USECS = range(50, 501, 50)
FREQS_MHZ = range(1300, 2901, 200)
SLO_US = 500.0
CONFIGURATION = "/etc/bayop/agent.toml"

SLOW_AUTO_MHZ, FAST_AUTO_MHZ = 1000, 2900
"""What the operating system's own governor is to settle at: one misses the SLO, and the other meets it."""

# What the clients see: packets wait for their interrupt, and a request takes so many cycles.
LATENCY = """
import json, os, sys, time
setting, window_s = json.loads(os.environ["BAYOP_SETTING"]), float(os.environ["BAYOP_WINDOW_S"])
time.sleep(window_s)
setting = {knob: value for knob, value in setting.items() if value != "auto"}
rx_usecs, freq_mhz = setting.get("nic.rx_usecs", 3), setting.get("cpu.freq_mhz", int(sys.argv[1]))
print(json.dumps({"vantage": "client", "p99_us": 60 + rx_usecs + 600_000 / freq_mhz, "qps": 2500}))
"""


def p99_us(rx_usecs: float, freq_mhz: float) -> float:
    """The same law as LATENCY."""
    return 60 + rx_usecs + 600_000 / freq_mhz


def best_by_law() -> set[tuple[int, int]]:
    """The settings that draw least by the lab's power law among those whose latency meets the SLO."""
    lawful = [setting for setting in product(RX_USECS, FREQS_MHZ) if p99_us(*setting) < SLO_US]
    least_w = min(meter_power_w([freq_mhz] * 2) for _, freq_mhz in lawful)
    return {setting for setting in lawful if meter_power_w([setting[1]] * 2) == least_w}


@pytest.fixture
def metered(machine: Machine, agent: LabAgent) -> Iterator[LabAgent]:
    """An agent whose power meter is the ACPI one, which follows the P-states whatever else the host is doing."""
    configuration = machine.read(CONFIGURATION)
    agent.end()
    machine.write(CONFIGURATION, configuration + '\n[power]\nmeter = "hwmon_power"\n')
    agent.start()
    yield agent
    agent.ensure_running()
    agent.end()
    machine.write(CONFIGURATION, configuration + "\n")
    until_link(machine)


def command(agent: LabAgent, *more: str, auto_mhz: int = SLOW_AUTO_MHZ) -> list[str]:
    latency = shlex.join([sys.executable, "-c", LATENCY, str(auto_mhz)])
    words = [
        *("--target", f"agent:{agent.address}", *agent.flags, "--latency", latency),
        *("--only", "nic.rx_usecs", "--range", f"nic.rx_usecs={RX_USECS[0]}:{RX_USECS[-1]}:{RX_USECS.step}"),
        *("--only", "cpu.freq_mhz", "--range", f"cpu.freq_mhz={FREQS_MHZ[0]}:{FREQS_MHZ[-1]}:{FREQS_MHZ.step}"),
        *("--slo", f"p99<{SLO_US:g}us", "--window", "500ms", "--settle", "200ms", "--json"),
    ]
    # An idle machine's own governor draws less than any fixed frequency here: what a search finds would not be kept.
    return [sys.executable, "-m", "bayop", "tune", "--no-confirm", *words, *more]


def result_of(output: str) -> dict[str, object]:
    last: dict[str, object] = json.loads(output.splitlines()[-1])
    return last


def steps_away(setting: object, best: tuple[int, int]) -> int:
    """How many steps a setting is from another, in the knob where it is further away."""
    assert isinstance(setting, Mapping)
    rx_usecs, freq_mhz = int(setting["nic.rx_usecs"]), int(setting["cpu.freq_mhz"])
    return max(abs(rx_usecs - best[0]) // RX_USECS.step, abs(freq_mhz - best[1]) // FREQS_MHZ.step)


@pytest.mark.timeout(300)
def test_a_search_ends_on_the_setting_that_the_power_law_makes_best(machine: Machine, metered: LabAgent) -> None:
    assert best_by_law() == {(50, 1700)}
    original = snapshot(machine)
    started = time.monotonic()
    run = subprocess.run(command(metered), capture_output=True, text=True, timeout=250, check=False)
    assert run.returncode == 0, run.stderr
    result = result_of(run.stdout)
    print(
        f"{result['trials']} trials in {time.monotonic() - started:.0f} s: {result['setting']}; {result['predicted']}"
    )
    assert min(steps_away(result["setting"], best) for best in best_by_law()) <= 1
    for event in map(json.loads, run.stdout.splitlines()):
        if event["event"] != "trial":
            continue
        power_w = meter_power_w([event["setting"]["cpu.freq_mhz"]] * 2)
        assert event["measured"]["power_w"] == pytest.approx(power_w, rel=0.02), "the meter is the one of the lab"
    assert result["held"] is False
    assert snapshot(machine) == original
    assert metered.status()["lease"] is None


@pytest.mark.timeout(300)
def test_keep_leaves_the_result_until_a_restore(machine: Machine, metered: LabAgent) -> None:
    original = snapshot(machine)
    run = subprocess.run(
        command(metered, "--keep", "--max-trials", "2"), capture_output=True, text=True, timeout=250, check=False
    )
    assert run.returncode == 0, run.stderr
    result = result_of(run.stdout)
    setting = result["setting"]
    assert isinstance(setting, Mapping)
    assert result["held"] is True
    held = {each["knob"].partition("@")[0]: each["effective"] for each in metered.status()["held"]}
    assert held == dict(setting)
    assert metered.status()["lease"] is None
    time.sleep(1.5)  # the agent has looked at its leases
    assert snapshot(machine) != original
    metered.post("/v1/restore", {})
    assert snapshot(machine) == original


@pytest.mark.timeout(300)
def test_a_default_that_meets_the_slo_for_less_is_left_alone(
    machine: Machine, metered: LabAgent, governor: Callable[[str], None]
) -> None:
    governor("powersave")  # the cheapest setting whatever the host does: its busy CPUs would drive schedutil up
    original = snapshot(machine)
    run = subprocess.run(
        command(metered, "--keep", auto_mhz=FAST_AUTO_MHZ), capture_output=True, text=True, timeout=250, check=False
    )
    assert run.returncode == 0, run.stderr
    result = result_of(run.stdout)
    assert result["setting"] == {"nic.rx_usecs": "auto", "cpu.freq_mhz": "auto"}
    assert result["held"] is False
    assert snapshot(machine) == original


def searching(agent: LabAgent) -> subprocess.Popen[str]:
    """A search in the middle of its second trial, which goes on for long."""
    more = ["--optimizer", "random", "--seed", "1", "--max-trials", "500"]
    process = subprocess.Popen(
        command(agent, *more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    for _ in range(2):
        assert process.stdout.readline(), process.stderr and process.stderr.read()
    return process


@pytest.mark.timeout(300)
def test_ctrl_c_during_a_trial_puts_everything_back(machine: Machine, metered: LabAgent) -> None:
    original = snapshot(machine)
    with searching(metered) as process:
        assert snapshot(machine) != original
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert result_of(output)["stopped"] == "interrupted", errors
    assert snapshot(machine) == original


@pytest.mark.timeout(300)
def test_a_brain_that_is_killed_during_a_trial_leaves_a_machine_that_its_lease_restores(
    machine: Machine, metered: LabAgent
) -> None:
    original = snapshot(machine)
    with searching(metered) as process:
        process.kill()
    assert snapshot(machine) != original
    assert eventually(lambda: not metered.status()["held"], within_s=TTL_S + 20)
    assert snapshot(machine) == original
    assert "lease_expired" in metered.log()
