"""Runs one program, and ends all that it has started: when it ends, is late or prints too much, or nobody waits for it.

    python -I -S supervisor.py PARENT REPORT LIMIT_S MOST_BYTES REST PROGRAM [ARGUMENT ...]

A process of its own, because whoever wants the program may be killed; it imports next to nothing, to start in 20 ms.
It is the subreaper of what it starts (prctl(2)): a process whose parent has ended becomes its child, also one in a
session of its own. So each descendant is its child sooner or later, and when there is no child there is no descendant.

It ends with its PARENT (a process id) and with SIGTERM. What became of the program is written to the descriptor REPORT:
`start ERRNO`, `exit CODE`, `late`, `loud`, `called-off`, or `left` where something could not be ended. REST says what
happens to the rest when the program has ended with 0: it `ends`, or it `goes-on` as a service does.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from contextlib import suppress

_POLL_S = 0.02
_END_S = 2.0
_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER."""

_IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)
"""Python ignores them, and the program must not."""


def main() -> None:
    """Supervises what the arguments say."""
    parent, report = map(int, sys.argv[1:3])
    limit_s, most_bytes = map(float, sys.argv[3:5])
    rest, *words = sys.argv[5:]
    called_off: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: called_off.append(number))
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    os.set_inheritable(report, False)  # noqa: FBT003
    ends = time.monotonic() + limit_s
    try:
        program = os.posix_spawnp(words[0], words, os.environ, setsid=True, setsigdef=_IGNORED)
        while (outcome := _outcome(program, ends, most_bytes)) is None:
            if called_off or os.getppid() != parent:
                outcome = "called-off"
                break
            time.sleep(_POLL_S)
    except OSError as error:
        outcome = f"start {error.errno}"
    if not (outcome == "exit 0" and rest == "goes-on") and not _end_all():
        outcome = "left"
    with suppress(BrokenPipeError):  # whoever wanted to know was killed
        os.write(report, outcome.encode())


def _outcome(program: int, ends: float, most_bytes: float) -> str | None:
    """What has become of the program; None while it runs."""
    ended = -1
    while ended:  # those that were left to us are collected too
        ended, status = os.waitpid(-1, os.WNOHANG)
        if ended == program:
            return f"exit {os.waitstatus_to_exitcode(status)}"
    if time.monotonic() > ends:
        return "late"
    return "loud" if any(os.fstat(stream).st_size > most_bytes for stream in (1, 2)) else None


def _end_all() -> bool:
    """Ends every descendant, generation by generation; whether that could be done."""
    ends = time.monotonic() + _END_S
    while time.monotonic() < ends:
        for child in _children():
            with suppress(ProcessLookupError, PermissionError):  # of another user, behind sudo
                os.kill(child, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return True
        time.sleep(0.001)
    return False


def _children() -> list[int]:
    """The processes whose parent this one is; proc(5), /proc/PID/stat: the name ends with the last parenthesis."""
    found, own = [], str(os.getpid()).encode()
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 -- pathlib starts too slowly
        with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
            if file.read().rpartition(b")")[2].split()[1] == own:
                found.append(int(name))
    return found


if __name__ == "__main__":
    main()
