"""Runs somebody's program under a time limit and reads what it prints."""

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


def run_within(
    limit_s: float,
    words: Sequence[str],
    *,
    environment: Mapping[str, str],
    sleep: Callable[[float], None],
    late: InputError,
    place: str,
    start_place: str | None = None,
    leaves_children: bool = False,
) -> str:
    """What the program prints, by the time it has ended.

    Args:
        limit_s: How long it may take, in s.
        words: The program and its arguments.
        environment: Variables in addition to ours.
        sleep: How to wait; when it raises, the program is ended.
        late: What to raise when it takes longer.
        place: What errors call the program.
        start_place: What the error of one that can't be started calls it; None for the same.
        leaves_children: Whether what the program has started goes on when it has ended well, as a service does.

    Raises:
        InputError: it can't be run, takes too long, prints too much or fails.
    """
    with TemporaryFile() as out, TemporaryFile() as err:
        process = _start(words, environment, out, err, place=start_place or place)
        ends = monotonic() + limit_s
        code = None
        try:
            while (code := process.poll()) is None:
                if monotonic() > ends:
                    raise late
                _check_length(out, err, place=place)
                sleep(_POLL_S)
        finally:
            if code != 0 or not leaves_children:
                _end(process)
        if code != 0:
            said = _head(err).strip().splitlines()
            hint = said[-1] if said else "it says nothing on stderr: run it by hand"
            raise InputError(wrong=f"the command ended with exit code {code}", value=code, place=place, hint=hint)
        return _head(out)


def _start(
    words: Sequence[str], environment: Mapping[str, str], out: IO[bytes], err: IO[bytes], *, place: str
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
        raise InputError(wrong=f"cannot run {words[0]}: {reason(error)}", place=place) from error


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
    """Ends the program with everything that it started in its session's group of processes."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
