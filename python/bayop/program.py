"""Runs somebody's program under a time limit and reads what it prints."""

from __future__ import annotations

import errno
import math
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from time import monotonic
from typing import IO, Final

from bayop.errors import InputError, reason
from bayop.last_words import LastWords

# How often a program is looked at: more seldom the longer it runs, since each look costs as much.
_POLL_S: Final = 0.02
_POLL_SHARE: Final = 0.02
_LONGEST_POLL_S: Final = 0.1
_MOST_BYTES: Final = 64 * 1024
_SILENT: Final = "it says nothing on stderr: run it by hand"
_SUPERVISOR: Final = Path(__file__).with_name("supervisor.py")
_SUPERVISOR_S: Final = 5.0
"""How much longer than the program its supervisor may take: to start, and to end what the program has started."""


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
    leaves_children: bool = False,
    on_print: Callable[[str], None] = lambda _: None,
) -> str:
    """What the program prints, by the time it has ended.

    Whatever the program has started ends with it, in a session of its own too, and with this process, also when that is
    killed: `supervisor.py` sees to it.

    Args:
        limit_s: How long it may take, in s.
        words: The program and its arguments.
        environment: Variables in addition to ours.
        sleep: How to wait; when it raises, the program is ended.
        late: What to raise when it takes longer.
        place: What errors call the program.
        leaves_children: Whether what the program has started goes on when it has ended well, as a service does.
        on_print: Given all that was printed so far, while the program runs and prints; when it raises, it is ended.

    Raises:
        InputError: it can't be run, takes too long, prints too much, fails, or starts what can't be ended.
    """
    with TemporaryFile() as out, TemporaryFile() as err:
        rest = "goes-on" if leaves_children else "ends"
        printed = 0

        def wait(duration_s: float) -> None:
            nonlocal printed
            if (size := os.fstat(out.fileno()).st_size) > printed:
                printed = size
                on_print(_head(out))
            sleep(duration_s)

        report = _supervise(limit_s, words, rest=rest, environment=environment, streams=(out, err), sleep=wait)
        outcome, _, code = report.partition(" ")
        if outcome == "start":
            number = int(code)
            is_unknown = number == errno.ENOENT and "/" not in words[0]
            hint = "name a program of PATH, or one with its folder, as ./p99.sh" if is_unknown else None
            raise InputError(wrong=f"cannot run {words[0]}: {reason(OSError(number, ''))}", place=place, hint=hint)
        if outcome == "late":
            raise late
        if outcome == "loud":
            wrong = f"the command printed more than {_MOST_BYTES // 1024} KiB"
            raise InputError(wrong=wrong, place=place, hint="its result is one line")
        if outcome == "left":
            wrong = "what the command has started can't be ended"
            raise InputError(wrong=wrong, place=place, hint="a command must not start what belongs to another user")
        if (outcome, code) != ("exit", "0"):
            said = LastWords.of(_head(err))
            wrong = f"the command ended with exit code {code}" if code else "the command's supervisor was ended"
            if said.error is not None:
                raise InputError(wrong=f"{wrong}: {said.error}", value=code, place=place, hint=said.hint)
            raise InputError(wrong=wrong, value=code, place=place, hint=said.line or _SILENT)
        return _head(out)


def _supervise(
    limit_s: float,
    words: Sequence[str],
    *,
    rest: str,
    environment: Mapping[str, str],
    streams: tuple[IO[bytes], IO[bytes]],
    sleep: Callable[[float], None],
) -> str:
    """What has become of the program, in its supervisor's words."""
    try:
        supervisor, report = start_supervised(
            words, streams, limit_s=limit_s, most_bytes=_MOST_BYTES, rest=rest, environment=environment
        )
    except (OSError, ValueError) as error:  # too long, or with a NUL in it
        return f"start {error.errno if isinstance(error, OSError) else errno.EINVAL}"
    with report:
        try:
            began = now = monotonic()
            while supervisor.poll() is None and now < began + limit_s + _SUPERVISOR_S:
                sleep(min(max(_POLL_S, _POLL_SHARE * (now - began)), _LONGEST_POLL_S))
                now = monotonic()
        finally:
            end_supervised(supervisor)
        return report.read()


def start_supervised(
    words: Sequence[str],
    streams: tuple[IO[bytes] | int, IO[bytes] | int],
    *,
    limit_s: float = math.inf,
    most_bytes: float = math.inf,
    rest: str = "ends",
    environment: Mapping[str, str] | None = None,
) -> tuple[subprocess.Popen[bytes], IO[str]]:
    """Starts a program under `supervisor.py`, which ends with this process and ends whatever the program has started.

    Args:
        words: The program and its arguments.
        streams: Where it writes, its standard output and its standard error.
        limit_s: How long it may take, in s.
        most_bytes: How much it may write to either stream, which then is a file.
        rest: What happens to what it has started when it has ended well: it `ends`, or it `goes-on`.
        environment: Variables in addition to ours.

    Returns:
        The supervisor, and where it reports what has become of the program when it ends: `start ERRNO`, `exit CODE`...

    Raises:
        OSError: the supervisor can't be started.
        ValueError: there is a NUL in a word.
    """
    reader, writer = os.pipe()
    report = os.fdopen(reader, encoding="ascii")
    try:
        # A session of its own: Ctrl-C is for us.
        supervisor = subprocess.Popen(  # noqa: S603 -- running the user's command is the point
            [
                sys.executable,
                "-I",
                "-S",
                _SUPERVISOR,
                *map(str, (os.getpid(), writer, limit_s, most_bytes, rest)),
                *words,
            ],
            stdin=subprocess.DEVNULL,
            stdout=streams[0],
            stderr=streams[1],
            env=os.environ | (environment or {}),
            pass_fds=[writer],
            start_new_session=True,
        )
    except BaseException:
        report.close()
        raise
    finally:
        os.close(writer)
    return supervisor, report


def end_supervised(supervisor: subprocess.Popen[bytes]) -> None:
    """Ends the program with everything that it has started."""
    end(supervisor, within_s=_SUPERVISOR_S)


def end(process: subprocess.Popen[bytes], *, within_s: float) -> None:
    """Asks a process to end, and kills it when it has not by then; nothing happens to one that has ended."""
    process.terminate()
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _head(file: IO[bytes]) -> str:
    # Where the program writes next is ours to read, not to move.
    return os.pread(file.fileno(), _MOST_BYTES, 0).decode("utf-8", "replace")
