"""Running somebody's program; who measures a window with one is tested in `latency`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.patience import eventually
from tests.support.processes import lives

from bayop.errors import DriftError, InputError
from bayop.program import run_within, split_command

WRITER = """setsid sh -c 'echo $$ >pid; while :; do echo x >>file; done' & until [ -s pid ]; do :; done; """
"""Starts a process in a session of its own that writes without end; its number is in the file pid."""

LATE = InputError(wrong="the command is late")


def run(
    script: str,
    *,
    limit_s: float = 5.0,
    leaves_children: bool = False,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    return run_within(
        limit_s,
        ["sh", "-c", script],
        environment={"BAYOP_VALUE": "8"},
        sleep=sleep,
        late=LATE,
        place="a command",
        leaves_children=leaves_children,
    )


def test_a_command_is_split_as_a_shell_would_and_not_interpreted() -> None:
    assert split_command("p99 'two words' $HOME; ls") == ["p99", "two words", "$HOME;", "ls"]


def test_it_says_what_the_program_prints_with_our_variables_and_its_own() -> None:
    assert run('echo "$BAYOP_VALUE ${PATH:+path}"') == "8 path\n"


def test_a_program_that_is_late_is_ended() -> None:
    with pytest.raises(InputError, match="the command is late"):
        run("sleep 60", limit_s=0.1)


@pytest.mark.parametrize("leaves_children", [False, True])
def test_what_it_has_started_ends_with_it_unless_that_may_go_on(*, leaves_children: bool) -> None:
    pid = int(run("sleep 60 & echo $!", leaves_children=leaves_children))
    try:
        assert lives(pid) == leaves_children
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_a_program_that_runs_for_long_is_looked_at_more_seldom() -> None:
    waits: list[float] = []

    def sleep(duration_s: float) -> None:
        waits.append(duration_s)
        time.sleep(duration_s)

    run("sleep 1.5", sleep=sleep)
    assert waits[0] == min(waits) == 0.02
    assert waits[-1] == max(waits) > 0.025


def test_what_a_program_that_failed_has_started_never_goes_on(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="exit code 3"):
        run(f"sleep 60 & echo $! >{tmp_path}/pid; exit 3", leaves_children=True)
    assert not lives(int((tmp_path / "pid").read_text(encoding="utf-8")))


@pytest.fixture
def writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file with the number of a process in a session of its own, which is ended after the test."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path / "pid"
    with suppress(ProcessLookupError):
        os.killpg(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def test_a_session_of_its_own_ends_with_the_program(writer: Path) -> None:
    assert run(WRITER + "echo done") == "done\n"
    assert not lives(int(writer.read_text()))


def test_so_it_does_when_the_program_is_late(writer: Path) -> None:
    with pytest.raises(InputError, match="the command is late"):
        run(WRITER + "wait", limit_s=0.5)
    assert not lives(int(writer.read_text()))


def test_so_it_does_when_nobody_waits_any_more(writer: Path) -> None:
    def sleep(duration_s: float) -> None:
        time.sleep(duration_s)
        if writer.exists() and writer.read_text():
            raise DriftError("the lease must be held")

    with pytest.raises(DriftError):
        run(WRITER + "wait", sleep=sleep)
    assert not lives(int(writer.read_text()))


def test_so_it_does_when_whoever_waits_is_killed(writer: Path) -> None:
    code = (
        "import time; from bayop.program import run_within\n"
        f"run_within(60, ['sh', '-c', {WRITER + 'wait'!r}], environment={{}}, sleep=time.sleep, late=None, place='x')"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as waits:
        assert eventually(lambda: writer.exists() and bool(writer.read_text()), within_s=20)
        waits.kill()
    assert not lives(int(writer.read_text()))


def test_daemons_of_daemons_end_with_it(writer: Path) -> None:
    script = "for i in 1 2 3; do setsid sh -c 'setsid sh -c \"echo \\$\\$ >>pid; exec sleep 60\" & sleep 60' & done; "
    run(script + "until [ $(wc -l <pid) -ge 3 ]; do :; done")
    assert [lives(int(pid)) for pid in writer.read_text().split()] == [False] * 3
    writer.write_text(writer.read_text().split()[0])


def test_a_service_goes_on_in_a_session_of_its_own(writer: Path) -> None:
    run("setsid sh -c 'echo $$ >pid; exec sleep 60' & until [ -s pid ]; do :; done", leaves_children=True)
    assert lives(int(writer.read_text()))


def test_a_program_has_the_signals_of_one_that_a_shell_starts() -> None:
    ask = "sed -n 's/^SigIgn:\\s*//p' /proc/self/status"
    # Whoever started the tests may ignore some, as nohup does; beyond 31 are those that glibc uses itself.
    ours, shells = (int(line, 16) & 0x7FFF_FFFF for line in (run(ask), subprocess.check_output(["sh", "-c", ask])))
    assert ours == shells


@pytest.mark.parametrize("word", ["a\0b", "x" * 200_000])
def test_what_no_program_can_be_told(word: str) -> None:
    with pytest.raises(InputError, match=r"cannot run true: (invalid argument|argument list too long)"):
        run_within(1.0, ["true", word], environment={}, sleep=time.sleep, late=LATE, place="a command")
