"""`bayop-idle-record` on Debian's 6.1, whose menu governor chooses among real idle states."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.end_to_end.lab.conftest import new_machine

from bayop.idle.recorder import read_recording
from bayop.idle.stays import OTHER, TICK, TIMER
from lab import Files, Machine

pytestmark = pytest.mark.slow

PROGRAM = "/usr/bin/bayop-idle-record"


@pytest.fixture(scope="module")
def server(idle_recorder: Path) -> Iterator[Machine]:
    """A machine with the recorder."""
    with new_machine(Files().add_program(PROGRAM, idle_recorder)) as machine:
        yield machine


def test_the_stays_of_every_cpu_are_recorded_with_what_the_kernel_knew(server: Machine) -> None:
    server.run(f"{PROGRAM} --duration-s 4 --cost >/run/stays", timeout_s=120)
    recording = read_recording(server.read("/run/stays").splitlines(keepends=True), PROGRAM)
    assert recording is not None
    summary = recording.summary
    assert (summary["governor"], summary["driver"], summary["timers"], summary["lost"]) == (
        "menu",
        "acpi_idle",
        True,
        0,
    )
    assert list(recording.of_cpu) == [0, 1]
    stays = [stay for of_cpu in recording.of_cpu.values() for stay in of_cpu]
    assert summary["stays"] == len(stays) > 20
    assert float(str(summary["kernel_ns_per_stay"])) > 0
    for of_cpu in recording.of_cpu.values():
        ends = [start_us + length_us for start_us, length_us, *_ in of_cpu]
        assert all(end <= stay[0] + 1 for end, stay in zip(ends, of_cpu[1:], strict=False))
    assert {stay[6] for stay in stays} <= {0, 1, 2, 3}
    # What the alarm was set for ended a stay no sooner. Now and then the alarm was set for less than menu was told.
    early = [stay for stay in stays if stay[3] == TIMER and stay[1] < stay[2] - 2]
    assert len(early) < 0.05 * len(stays)
    assert all(stay[1] >= stay[7] - 2 for stay in stays if stay[3] == TICK)
    assert {OTHER, TICK} & {stay[3] for stay in stays}


def test_stays_beyond_the_room_are_counted_as_lost(server: Machine) -> None:
    server.run(f"{PROGRAM} --duration-s 2 --most-stays 3 >/run/few", timeout_s=120)
    recording = read_recording(server.read("/run/few").splitlines(keepends=True), PROGRAM)
    assert recording is not None
    assert recording.summary["stays"] == 3
    assert int(str(recording.summary["lost"])) > 0


def test_it_ends_with_whoever_reads_it(server: Machine) -> None:
    """As when the program that asked for a recording is killed."""
    server.run(f"{PROGRAM} --duration-s 600 | sleep 1", timeout_s=120)
    assert server.run("pidof bayop-idle-record", check=False).stdout == ""
