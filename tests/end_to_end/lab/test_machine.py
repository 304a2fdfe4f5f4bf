"""Commands, files and power of the lab's machine."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.end_to_end.lab.conftest import new_machine

from lab import Files, Machine
from lab.errors import CommandError, LabError

pytestmark = pytest.mark.slow


def test_a_command_gives_its_output_and_exit_code(machine: Machine) -> None:
    result = machine.run("echo out; echo err >&2; exit 7", check=False)
    assert (result.exit_code, result.stdout, result.stderr) == (7, "out\n", "err\n")


def test_a_command_that_fails_is_an_error_that_says_why(machine: Machine) -> None:
    with pytest.raises(CommandError, match=r"exit code 1: .*can't open '/none'.*\(cat /none\)$"):
        machine.run("cat /none")


def test_a_command_that_a_signal_ends_has_a_shells_exit_code(machine: Machine) -> None:
    assert machine.run("kill -KILL $$", check=False).exit_code == 137


def test_bytes_arrive_as_they_were(machine: Machine) -> None:
    content = bytes(range(256)) * 4096
    machine.write("/run/bytes", content)
    assert machine.run("cat /run/bytes").stdout_bytes == content


def test_a_command_that_takes_too_long_is_killed_with_its_children(machine: Machine) -> None:
    with pytest.raises(CommandError, match=r"ran for over 0\.5 s"):
        machine.run("sleep 4242 & sleep 4242", timeout_s=0.5)
    assert machine.run("pgrep -f 'sleep 424[2]'", check=False).stdout == ""


def test_threads_run_commands_at_the_same_time(machine: Machine) -> None:
    started = time.monotonic()
    with ThreadPoolExecutor(max_workers=8) as pool:
        results = list(pool.map(lambda n: machine.run(f"sleep 1; echo {n}").stdout, range(8)))
    assert results == [f"{n}\n" for n in range(8)]
    assert time.monotonic() - started < 6


def test_the_people_of_the_guest(machine: Machine) -> None:
    assert machine.run("su operator -c 'id -Gn'").stdout.split() == ["operator", "bayop"]
    assert machine.run("su nobody -c 'id -Gn'").stdout.split() == ["nogroup"]
    assert machine.run("whoami").stdout == "root\n"


def test_a_port_that_is_forwarded_later_leads_into_the_guest(machine: Machine) -> None:
    machine.run("echo hello | nc -l -p 7001 >/dev/null 2>&1 &")
    machine.run("until netstat -ltn | grep -q :7001; do usleep 10000; done")
    with socket.create_connection(("127.0.0.1", machine.forward(7001)), timeout=10) as connection:
        assert connection.makefile("rb").read(6) == b"hello\n"


@pytest.fixture
def own_machine() -> Iterator[Machine]:
    """A second machine, with something to start."""
    start = "#!/bin/sh\necho start number $(cat /etc/number)\n"
    files = Files().add("/etc/lab/start", start, mode=0o755).add("/etc/number", "one")
    with new_machine(files) as own:
        yield own


def test_what_a_boot_brings_along_is_started_and_a_shutdown_keeps_the_disk(own_machine: Machine) -> None:
    assert own_machine.read("/var/log/start.log") == "start number one"
    own_machine.write("/var/lib/kept", "kept")
    own_machine.shut_down()
    with pytest.raises(LabError, match="the machine is off"):
        own_machine.run("true")
    own_machine.boot()
    assert own_machine.read("/var/lib/kept") == "kept"


def test_a_machine_that_dies_is_reported_with_its_console(own_machine: Machine) -> None:
    own_machine.run("(sleep 0.2; echo c >/proc/sysrq-trigger) >/dev/null 2>&1 &")
    with pytest.raises(LabError, match="sysrq_handle_crash"):
        own_machine.run("sleep 20")
