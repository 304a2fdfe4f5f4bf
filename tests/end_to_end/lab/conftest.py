"""The lab's machine, booted once for all tests below this folder.

A test takes the fixture `machine` and finds the server up; it puts back what it changes, and expects nothing of the
tests before it. A boot costs six seconds, so a test that needs a fresh one cuts the power (`machine.power_cut()`)
instead of starting a machine of its own.

What the machine holds on top of the base system is decided in one place, the fixture `lab_files`: add a program with
`Files.add_program`, its configuration with `Files.add`, and an executable `/etc/lab/start` that starts it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from lab import Files, Machine, missing


@pytest.fixture(scope="session")
def lab_files() -> Files:
    """What the shared machine holds on top of the base system."""
    return Files()


def new_machine(files: Files) -> Machine:
    """A machine that is still off; skips the test where the lab can't run, or fails it where nothing may be skipped."""
    reason = missing()
    if reason is not None:
        (pytest.fail if "BAYOP_NO_SKIP" in os.environ else pytest.skip)(f"{reason}: run lab/install-packages")
    return Machine(files=files)


@pytest.fixture(scope="session")
def machine(lab_files: Files) -> Iterator[Machine]:
    """The booted server, shared by all tests."""
    with new_machine(lab_files) as machine:
        yield machine


@pytest.fixture
def freq_mhz(machine: Machine) -> Iterator[FrequencySetter]:
    """Sets the frequency of every CPU; the governor that was there comes back afterwards."""
    governor = machine.read("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor")
    yield FrequencySetter(machine)
    machine.run(
        f"for policy in /sys/devices/system/cpu/cpufreq/policy*; do echo {governor} >$policy/scaling_governor; done"
    )


class FrequencySetter:
    """Holds every CPU at a frequency through the userspace governor."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def __call__(self, freq_mhz: int) -> None:
        self._machine.run(
            "for policy in /sys/devices/system/cpu/cpufreq/policy*; do"
            f" echo userspace >$policy/scaling_governor && echo {freq_mhz}000 >$policy/scaling_setspeed || exit; done"
        )
