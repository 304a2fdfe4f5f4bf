"""Running somebody's program; who measures a window with one is tested in `latency`."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.processes import lives

from bayop.errors import InputError
from bayop.program import run_within, split_command

LATE = InputError(wrong="the command is late")


def run(script: str, *, limit_s: float = 5.0, leaves_children: bool = False) -> str:
    return run_within(
        limit_s,
        ["sh", "-c", script],
        environment={"BAYOP_VALUE": "8"},
        sleep=time.sleep,
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


def test_what_a_program_that_failed_has_started_never_goes_on(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="exit code 3"):
        run(f"sleep 60 & echo $! >{tmp_path}/pid; exit 3", leaves_children=True)
    assert not lives(int((tmp_path / "pid").read_text(encoding="utf-8")))
