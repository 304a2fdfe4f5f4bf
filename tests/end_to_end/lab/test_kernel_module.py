"""The idle governor in a kernel: `kernel/` on Debian's 6.1 and the newest for it, under load."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.end_to_end.lab.conftest import kernel_of, require_lab
from tests.end_to_end.lab.idle_states import CPU, entered_in
from tests.end_to_end.lab.memcached_load import loaded
from tests.pages.blocks import blocks_of
from tests.support.needs import require

from lab import Files, Machine
from lab.kernel import own

pytestmark = [pytest.mark.slow, pytest.mark.weekly]

ROOT = Path(__file__).resolve().parents[3]
MODULE = "/root/bayop_idle.ko"
REFUSING = "/root/refusing/bayop_idle.ko"
OWN = "tests/end_to_end/lab/test_kernel_module.py"
_STEPS = [
    step.command for b in blocks_of(ROOT / "docs/idle.md") if b.clauses.get("run by") == OWN for step in b.steps()
]
BUILD, LOAD, USE, UNLOAD = (
    step.partition("  ")[0].replace("sudo ", "").replace("build/kernel/bayop_idle.ko", MODULE) for step in _STEPS
)
"""As the page has it, but for a guest whose only user is root, and where the module lies there."""
CURRENT = f"cat {CPU}/cpuidle/current_governor"


@pytest.fixture(scope="module", params=["own", "bookworm-backports"])
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine with the module, not loaded; on Debian's 6.1, and on the newest kernel for it."""
    require_lab()
    kernel = own() if request.param == "own" else kernel_of(request.param)
    folder = tmp_path_factory.mktemp("module")
    build = subprocess.run([ROOT / BUILD, kernel.headers, folder], capture_output=True, text=True, check=False)
    lack, _, command = build.stderr.removeprefix("error: ").strip().partition("\nhint: ")
    require(build.returncode != 4, lack, command)
    assert build.returncode == 0, build.stderr
    files = Files().add(MODULE, folder / "bayop_idle.ko").add(REFUSING, refusing(folder, kernel.headers))
    # Loading it patches the kernel's code.
    with Machine(files=files, kernel=kernel, in_turns=True) as machine:
        assert machine.run("uname -r").stdout.strip() == kernel.release
        machine.run("dmesg -c >/dev/null")  # what it says of the emulated processor
        yield machine


def refusing(folder: Path, headers: Path) -> Path:
    """The module that takes every processor for one that tracks indirect branches; QEMU emulates none that does."""
    again = shutil.copytree(folder, folder.with_name(f"{folder.name}-refusing"))
    source = again / "module.c"
    text = source.read_text(encoding="utf-8")
    assert text.count("X86_FEATURE_IBT") == 1
    source.write_text(text.replace("X86_FEATURE_IBT", "X86_FEATURE_FPU"), encoding="utf-8")
    flags = [f"M={again}", "CONFIG_DEBUG_INFO_BTF_MODULES="]
    subprocess.run(["make", "--silent", "-C", headers, *flags, "modules"], check=True)
    return again / "bayop_idle.ko"


@pytest.fixture
def governed(machine: Machine) -> Iterator[Machine]:
    """With the governor in use; it is gone again afterwards, and the kernel is well."""
    machine.run(f"{LOAD} && {USE}")
    yield machine
    machine.run(UNLOAD)
    assert machine.run(CURRENT).stdout == "menu\n"
    assert said(machine) == ""


def said(machine: Machine) -> str:
    """What the kernel says of itself that it should not."""
    return machine.run("dmesg | grep -iE 'oops|bug:|warning|rcu.*stall|lockup|call trace' || true").stdout


def test_it_governs_when_it_is_asked_to_and_no_sooner(machine: Machine) -> None:
    machine.run(LOAD)
    assert machine.run(CURRENT).stdout == "menu\n"
    assert "bayop" in machine.run(f"cat {CPU}/cpuidle/available_governors").stdout.split()
    machine.run(USE)
    assert machine.run(CURRENT).stdout == "bayop\n"
    with loaded(machine, 6.0):
        states = entered_in(machine, 5.0)
    assert sum(states.values()) > 1000
    assert states["C3"] > 100
    machine.run(UNLOAD)
    assert machine.run(CURRENT).stdout == "menu\n"
    assert said(machine) == ""


def test_a_limit_of_latency_and_a_state_that_is_switched_off_are_kept(governed: Machine) -> None:
    with loaded(governed, 16.0):
        governed.run(f"for cpu in {CPU}/cpu?/power; do echo 60 >$cpu/pm_qos_resume_latency_us; done")
        limited = entered_in(governed, 4.0)
        governed.run(f"for cpu in {CPU}/cpu?/power; do echo 0 >$cpu/pm_qos_resume_latency_us; done")
        governed.run(f"for state in {CPU}/cpu?/cpuidle/state3; do echo 1 >$state/disable; done")
        switched_off = entered_in(governed, 4.0)
        governed.run(f"for state in {CPU}/cpu?/cpuidle/state3; do echo 0 >$state/disable; done")
        free = entered_in(governed, 4.0)
    assert (limited["C3"], switched_off["C3"]) == (0, 0)
    assert min(sum(limited.values()), sum(switched_off.values())) > 500
    assert free["C3"] > 100


def test_it_comes_and_goes_under_load_fifty_times_and_so_do_cpus(machine: Machine) -> None:
    with loaded(machine, 25.0):
        machine.run(
            f"for cycle in $(seq 50); do {LOAD} && {USE} && usleep 100000 && {UNLOAD} || exit; done", timeout_s=90
        )
        machine.run(f"{LOAD} && {USE}")
        online = f"{CPU}/cpu1/online"
        machine.run(f"for cycle in $(seq 5); do echo 0 >{online}; usleep 300000; echo 1 >{online}; usleep 300000; done")
        assert machine.run(CURRENT).stdout == "bayop\n"
        assert sum(entered_in(machine, 2.0).values()) > 100
        machine.run(UNLOAD)
    assert machine.run(CURRENT).stdout == "menu\n"
    assert said(machine) == ""


@pytest.mark.parametrize(
    ("told", "rule"),
    [
        ("", "power= must have a number for each of the 4 idle states"),
        ("power=1000,360", "power= must have a number for each of the 4 idle states"),
        ("power=1000,360,400,25", "must not fall, nor power= rise, from 1000 on"),
        ("power=1001,360,220,25", "must not fall, nor power= rise, from 1000 on"),
        ("power=4000000000,360,220,25", "must not fall, nor power= rise, from 1000 on"),
        ("power=1000,360,220,25 price=16001", "price= must be at most 16000"),
    ],
)
def test_what_can_not_be_meant_loads_nothing_and_is_said(machine: Machine, told: str, rule: str) -> None:
    machine.run(f"dmesg -c >/dev/null; insmod {MODULE} {told} && exit 1; true")
    assert rule in machine.run("dmesg").stdout
    assert "bayop" not in machine.run(f"cat {CPU}/cpuidle/available_governors; lsmod").stdout


def test_a_processor_that_tracks_indirect_branches_is_refused_before_anything_is_touched(machine: Machine) -> None:
    machine.run("dmesg -c >/dev/null")
    refused = machine.run(f"insmod {REFUSING}", check=False)
    assert refused.exit_code != 0
    assert "Operation not supported" in refused.stderr
    assert "must not track indirect branches (boot with ibt=off)" in machine.run("dmesg").stdout
    assert "bayop" not in machine.run(f"cat {CPU}/cpuidle/available_governors; lsmod").stdout
    machine.run(f"{LOAD} && {UNLOAD}")
