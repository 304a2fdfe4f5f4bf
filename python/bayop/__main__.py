"""The program `bayop`: what it does before and after its verb, and how Ctrl-C ends it then.

Until a verb runs there is nothing to clean up, and afterwards nothing is left to be: Ctrl-C ends the process at once,
instead of in a traceback out of whatever import or destructor it happens to meet.

For the same reason a verb that was ended by a signal, once it has put back what it changed, leaves the process without
Python's own way out, which takes modules apart one by one: a module written in C that the signal met while it was being
loaded can crash there ("PyThreadState_Get: the function must be called with the GIL held").
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn


def _quit(_number: int, _frame: object) -> NoReturn:
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(130)


# A background job ignores Ctrl-C, and goes on doing so.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _quit)


def main() -> None:
    """Runs the command line and ends the process with its exit code."""
    ended: list[int] = []
    # What is registered first is called last: threads have ended then, and libraries their processes.
    atexit.register(_leave, ended)
    from bayop.cli import main as run
    from bayop.cli.terminal.exit_codes import INTERRUPTED, TERMINATED

    try:
        code: str | int | None = run()
    except SystemExit as ending:
        code = ending.code
    if code in (INTERRUPTED, TERMINATED):
        ended.append(code)
    sys.exit(code)


def _leave(ended: list[int]) -> None:
    """Ends the process at once where a signal has ended its verb with that exit code."""
    if ended:
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        os._exit(ended[0])


if __name__ == "__main__":
    main()
