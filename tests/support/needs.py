"""What a test needs of the machine: without it the test is skipped, and the reason names the command that gets it.

Where BAYOPTEST_NO_SKIP is in the environment, as in CI, such a test fails instead. `python -m tests.support.needs FILE`
prints as a table what the file names that BAYOPTEST_SKIPPED gave to the tests, in Rust (crates/knobs/tests/needs) and
here: one line a test, LACK; get it by: COMMAND.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NoReturn

import pytest

from bayop.experiments.rig.veth import missing

_ROOT: Final = "sudo make test"
_EXTRAS: Final = "make extras"
_BROWSER: Final = "sudo make extras test-slow"
_BOTH: Final = "sudo make extras test"
_BETWEEN: Final = "; get it by: "


def need(*names: str) -> None:
    """Skips the test unless all of these are here: `root`, `namespaces`, an extra (`torch`), or else a program."""
    for name in names:
        if name == "root":
            require(os.geteuid() == 0, "only root may do this", _ROOT)
        elif name == "namespaces":
            reason = missing()
            require(reason is None, str(reason), _ROOT)
        elif name in {"ax", "optuna", "playwright", "ray", "torch"}:
            require(find_spec(name) is not None, f"{name} is not installed", _EXTRAS)
        elif name == "chromium":
            require(program(name) is not None, f"{name} is not installed", _BROWSER)
        else:
            require(program(name) is not None, f"{name} is not installed", _ROOT)


def program(name: str) -> str | None:
    """The path of a program; servers stand in /usr/sbin, which is not on every user's path."""
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


def require(there: bool, lack: str, command: str) -> None:  # noqa: FBT001 -- reads as an assertion
    """Skips the test if something is not there: what is lacking, and the command that gets it."""
    if not there:
        lacking(lack, command)


def lacking(lack: str, command: str) -> NoReturn:
    """Skips the test, or fails it where nothing may be skipped."""
    (pytest.fail if "BAYOPTEST_NO_SKIP" in os.environ else pytest.skip)(f"{lack}{_BETWEEN}{command}")


def note(reasons: Iterable[str]) -> None:
    """Adds to the file of BAYOPTEST_SKIPPED why tests were skipped, but for cases that exist nowhere."""
    if path := os.environ.get("BAYOPTEST_SKIPPED"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.writelines(f"{reason.removeprefix('Skipped: ')}\n" for reason in reasons if _BETWEEN in reason)


def table(lines: Iterable[str]) -> str:
    """What did not run: for each lack the number of tests and what runs them, and one command for all of them."""
    lacks = Counter(tuple(line.rstrip().split(_BETWEEN)) for line in lines)
    if not lacks:
        return "Every test ran."
    rows = [(str(number), lack, command) for (lack, command), number in lacks.most_common()]
    head = ("tests", "did not run, because", "what runs them")
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(2)]
    text = [f"{number:>{widths[0]}}  {lack:<{widths[1]}}  {command}" for number, lack, command in (head, *rows)]
    commands = {command for _, _, command in rows} & {_ROOT, _EXTRAS}
    if commands:
        text += ["", f"One command for them: {_BOTH if len(commands) > 1 else commands.pop()}"]
    return "\n".join(text)


if __name__ == "__main__":
    file = Path(sys.argv[1])
    print(table(file.read_text(encoding="utf-8").splitlines() if file.exists() else []))
