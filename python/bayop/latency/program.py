"""Runs somebody's program for one window and reads what it prints."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from tempfile import TemporaryFile
from time import monotonic
from typing import IO, Final

from bayop.errors import InputError, reason

GRACE_S: Final = 10.0
"""How much longer than its window a program may take."""

_POLL_S: Final = 0.02
_MOST_BYTES: Final = 64 * 1024


def split_command(command: str) -> list[str]:
    """The words of a command, as a shell would split it; no shell interprets them further.

    Raises:
        InputError: there is no command in it.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"a command must be words as a shell splits them ({error})", value=command) from error
    if not words:
        raise InputError("a command must not be empty", value=command)
    return words


def run_program(
    words: Sequence[str],
    *,
    environment: Mapping[str, str],
    duration_s: float,
    grace_s: float,
    sleep: Callable[[float], None],
    place: str,
) -> str:
    """What the program prints, by the time it has ended.

    Args:
        words: The program and its arguments.
        environment: Variables in addition to ours.
        duration_s: The window that it measures.
        grace_s: How much longer than the window it may take.
        sleep: How to wait; when it raises, the program is ended.
        place: What errors call the program.

    Raises:
        InputError: it can't be run, takes too long or fails.
    """
    with TemporaryFile() as out, TemporaryFile() as err:
        process = _start(words, environment, out, err)
        ends = monotonic() + duration_s + grace_s
        try:
            while (code := process.poll()) is None:
                if monotonic() > ends:
                    raise InputError(
                        wrong=f"the command was still running {grace_s:g} s after its window of {duration_s:g} s",
                        place=place,
                        hint="BAYOP_WINDOW_S says how long to measure",
                    )
                _check_length(out, err, place=place)
                sleep(_POLL_S)
        finally:
            _end(process)
        if code != 0:
            said = _head(err).strip().splitlines()
            hint = said[-1] if said else "it says nothing on stderr: run it by hand"
            raise InputError(wrong=f"the command ended with exit code {code}", value=code, place=place, hint=hint)
        return _head(out)


def _start(
    words: Sequence[str], environment: Mapping[str, str], out: IO[bytes], err: IO[bytes]
) -> subprocess.Popen[bytes]:
    try:
        # A session of its own: Ctrl-C is for us, and whatever the program has started ends with it.
        return subprocess.Popen(  # noqa: S603 -- running the user's command is the point
            words,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=os.environ | environment,
            start_new_session=True,
        )
    except OSError as error:
        raise InputError(wrong=f"cannot run {words[0]}: {reason(error)}", place="--latency") from error


def _check_length(*files: IO[bytes], place: str) -> None:
    """Refuses a program that would fill the disk."""
    if any(os.fstat(file.fileno()).st_size > _MOST_BYTES for file in files):
        raise InputError(
            wrong=f"the command printed more than {_MOST_BYTES // 1024} KiB", place=place, hint="its result is one line"
        )


def _head(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_MOST_BYTES).decode("utf-8", "replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the program with everything that it started; no process outlives its window."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
