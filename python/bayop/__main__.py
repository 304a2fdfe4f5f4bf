"""The program `bayop`: what it does before and after its verb, and how Ctrl-C ends it then.

Until a verb runs there is nothing to clean up, and afterwards nothing is left to be: Ctrl-C ends the process at once,
instead of in a traceback out of whatever import or destructor it happens to meet.
"""

from __future__ import annotations

import os
import signal
import sys
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
    from bayop.cli import main as run

    sys.exit(run())


if __name__ == "__main__":
    main()
