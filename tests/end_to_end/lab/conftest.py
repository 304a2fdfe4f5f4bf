"""The lab's machine, booted once for all tests below this folder.

A test takes the fixture `machine` and finds the server up; it puts back what it changes, and expects nothing of the
tests before it. A boot costs six seconds, so a test that needs a fresh one cuts the power (`machine.power_cut()`)
instead of starting a machine of its own.

A test takes the fixture `agent` and finds BayOp's agent running in the machine, which may set every knob; the fixture
fails when the test leaves any control other than it was, or when the agent's AppArmor profile denied it anything.

What the machine holds on top of the base system is decided in one place, the fixture `contents`: add a program with
`Files.add_program` and its configuration with `Files.add`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.end_to_end.lab.lab_agent import LabAgent, denials, snapshot
from tests.support.needs import lacking, require

from lab import Files, Machine, missing
from lab.agent import Access, add_agent
from lab.errors import UnsupportedError
from lab.kernel import Kernel, of_suite


@pytest.fixture(scope="session")
def contents(agent_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Files, Access]:
    """What the shared machine holds on top of the base system, and what a client needs to talk to its agent."""
    require_lab()
    files = Files()
    return files, add_agent(files, agent_binary, tmp_path_factory.mktemp("certificates"))


def new_machine(files: Files) -> Machine:
    """A machine that is still off."""
    require_lab()
    return Machine(files=files)


def require_lab() -> None:
    """Skips the test where the lab can't run, or fails it where nothing may be skipped."""
    reason = missing()
    require(reason is None, str(reason), "lab/install-packages")


def kernel_of(suite: str) -> Kernel:
    """Another kernel; without it the test is skipped."""
    try:
        return of_suite(suite)
    except UnsupportedError as error:
        lacking(f"the lab has no kernel of {suite}", str(error.hint))


@pytest.fixture(scope="session")
def machine(contents: tuple[Files, Access]) -> Iterator[Machine]:
    """The booted server, shared by all tests."""
    with new_machine(contents[0]) as machine:
        yield machine


@pytest.fixture
def agent(machine: Machine, contents: tuple[Files, Access]) -> Iterator[LabAgent]:
    """The agent in the shared machine, which runs and holds nothing; afterwards every control is as it was, and its
    AppArmor profile has denied nothing."""
    agent = LabAgent(machine, contents[1])
    agent.ensure_running()
    before, denied = snapshot(machine), len(denials(machine))
    yield agent
    agent.ensure_running()
    agent.post("/v1/restore", {})
    assert snapshot(machine) == before
    assert agent.status()["held"] == []
    assert denials(machine)[denied:] == []


@pytest.fixture
def governor(machine: Machine) -> Iterator[Callable[[str], None]]:
    """Sets the frequency governor of every CPU; the one that was there comes back afterwards."""

    def choose(governor: str) -> None:
        machine.run(
            f"for policy in /sys/devices/system/cpu/cpufreq/policy*; do echo {governor} >$policy/scaling_governor; done"
        )

    found = machine.read("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor")
    yield choose
    choose(found)


@pytest.fixture
def freq_mhz(machine: Machine, governor: Callable[[str], None]) -> FrequencySetter:
    """Sets the frequency of every CPU; the governor that was there comes back afterwards."""
    governor("userspace")
    return FrequencySetter(machine)


class FrequencySetter:
    """Holds every CPU at a frequency through the userspace governor."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def __call__(self, freq_mhz: int) -> None:
        self._machine.run(
            "for policy in /sys/devices/system/cpu/cpufreq/policy*; do"
            f" echo {freq_mhz}000 >$policy/scaling_setspeed || exit; done"
        )
