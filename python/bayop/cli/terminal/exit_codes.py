"""Every exit code, what it means, and what has become of the machine: the one table that help and docs show.

Errors carry their code themselves (`bayop.errors`); a test holds them against this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DONE: Final = 0
NO_GOOD: Final = 1
DRIFT: Final = 3
UNSUPPORTED: Final = 4
INTERRUPTED: Final = 130
READER_LEFT: Final = 141
"""What a shell says of a program that a closed pipe has ended, as SIGPIPE ends others: 128 + 13."""
TERMINATED: Final = 143


@dataclass(frozen=True, slots=True)
class ExitCode:
    """One way to end.

    Attributes:
        code: The number.
        meaning: What happened.
        machine: The state of a live machine that was tuned.
    """

    code: int
    meaning: str
    machine: str


_BACK: Final = "its own settings are back"

EXIT_CODES: Final = (
    ExitCode(DONE, "done", f"{_BACK}; with --keep, the result is applied"),
    ExitCode(NO_GOOD, "done but no good: no setting meets the SLO, or it is broken; or failed on the way", _BACK),
    ExitCode(2, "bad usage or input", f"untouched, or {_BACK}"),
    ExitCode(DRIFT, "drift: what is applied is not what was asked", f"{_BACK}, but for what the message names"),
    ExitCode(UNSUPPORTED, "this machine or installation can't", f"untouched, or {_BACK}"),
    ExitCode(INTERRUPTED, "Ctrl-C where there is nothing to hold", _BACK),
    ExitCode(READER_LEFT, "whoever read the output, such as head or less, has left", _BACK),
    ExitCode(TERMINATED, "SIGTERM", _BACK),
)

_AFTERWARDS: Final = """\
Where `tune --keep` had applied its result before it failed or was ended, stderr says so, and what takes it back.
However bayop ends, `kill -9` included, the agent puts a live machine's own settings back: at the latest when the lease
ends, some seconds later.
"""


def help_text() -> str:
    """The table for `bayop --help`."""
    return "exit codes, and a live machine then:\n" + "".join(
        f"  {entry.code:>3}  {entry.meaning}\n       {entry.machine}\n" for entry in EXIT_CODES
    )


def markdown() -> str:
    """The table for the documentation."""
    rows = "".join(f"| {entry.code} | {entry.meaning} | {entry.machine} |\n" for entry in EXIT_CODES)
    return f"| code | meaning | a live machine |\n|---|---|---|\n{rows}\n{_AFTERWARDS}"
