"""Running somebody's program for a window; what its output must look like is tested with the sources that read it."""

from __future__ import annotations

import time

import pytest

from bayop.errors import InputError
from bayop.latency.program import run_program


def run(*words: str, **environment: str) -> str:
    return run_program(
        words, environment=environment, duration_s=0.05, grace_s=5.0, sleep=time.sleep, place="latency command"
    )


def test_a_program_gets_our_environment_and_more() -> None:
    assert run("sh", "-c", 'printf \'%s %s\' "${PATH:+path}" "$BAYOP_WINDOW_S"', BAYOP_WINDOW_S="2") == "path 2"


def test_what_it_says_on_stderr_is_no_result() -> None:
    assert run("sh", "-c", "echo result; echo warning >&2") == "result\n"


@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_program_that_floods_is_ended_before_it_fills_the_disk(stream: str) -> None:
    started = time.monotonic()
    with pytest.raises(InputError, match="the command printed more than 64 KiB"):
        run("sh", "-c", f"yes >&{stream}")
    assert time.monotonic() - started < 4.0, "long before its time is over"


def test_a_program_that_only_fails_is_run_by_hand() -> None:
    with pytest.raises(InputError, match="the command ended with exit code 1") as caught:
        run("false")
    assert caught.value.hint == "it says nothing on stderr: run it by hand"
