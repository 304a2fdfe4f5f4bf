"""A shell on a terminal, as a reader of the pages has one."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import signal
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

COLUMNS: Final = 100

_CONTROL: Final = re.compile(r"(\x1b\[[0-9;?]*[A-Za-z]|[\r\n])")
_UP: Final = "\x1b[1A"
_ERASE_LINE: Final = "\x1b[2K"
_START_S: Final = 1.0
"""What a server has to start in."""
_GRACE_S: Final = 0.2
"""What a server has to end in."""


class Shell:
    """A bash that runs one command after the other; jobs in its background end with it.

    Args:
        folder: Where it begins.
        environment: Its variables.
        through: What starts it, such as `unshare --net`.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str], through: Sequence[str] = ()) -> None:
        self._terminal, other_end = os.openpty()
        modes = termios.tcgetattr(other_end)
        modes[1] &= ~termios.ONLCR  # a line ends in \n, not in \r\n
        termios.tcsetattr(other_end, termios.TCSANOW, modes)
        termios.tcsetwinsize(other_end, (50, COLUMNS))
        self._bash = subprocess.Popen(
            [*through, "bash", "--norc", "--noprofile"],
            stdin=subprocess.PIPE,
            stdout=other_end,
            stderr=other_end,
            cwd=folder,
            env={**environment, "TERM": "xterm", "COLUMNS": str(COLUMNS)},
            start_new_session=True,
        )
        os.close(other_end)

    def run(self, command: str, *, typed: str | None = None) -> tuple[str, int]:
        """What a command writes on the terminal, and its exit code; `typed` is typed every 20 s until it is read."""
        # What is typed while a machine boots may be lost. Who types is ended by SIGPIPE, or with the shell.
        keys = "/dev/null" if typed is None else f"<(while sleep 20; do echo {shlex.quote(typed)}; done)"
        mark = secrets.token_hex(8)
        assert self._bash.stdin is not None
        self._bash.stdin.write(f"{{ {command}\n}} < {keys}\nprintf '{mark} %s\\n' $?\n".encode())
        self._bash.stdin.flush()
        output = b""
        while not (end := re.search(rf"{mark} (\d+)\n".encode(), output)):
            output += os.read(self._terminal, 65536)
        if command.partition("#")[0].rstrip().endswith("&"):
            time.sleep(_START_S)
        return on_screen(output[: end.start()].decode()), int(end[1])

    def close(self) -> None:
        """Ends it and everything that it started."""
        with self._bash:
            os.killpg(self._bash.pid, signal.SIGTERM)
            time.sleep(_GRACE_S)
            os.killpg(self._bash.pid, signal.SIGKILL)
        os.close(self._terminal)


def on_screen(text: str) -> str:
    """What a terminal shows in the end: rich goes up and erases lines to write them again; colours don't matter."""
    lines = [""]
    for part in _CONTROL.split(text):
        if part == "\n":
            lines.append("")
        elif part in ("\r", _ERASE_LINE):
            lines[-1] = ""
        elif part == _UP:
            lines.pop()
        elif not part.startswith("\x1b"):
            lines[-1] += part
    return "\n".join(lines)


def is_as_shown(page: str, output: str) -> bool:
    """Whether a command printed what its page shows, but for empty lines and spaces at the ends of lines."""
    anything = re.escape("...")
    expected = "".join(
        r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(anything, ".*") + r"\n" for line in _lines(page)
    )
    return re.fullmatch(expected, "".join(f"{line}\n" for line in _lines(output))) is not None


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]
