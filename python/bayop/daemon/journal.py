"""Priorities of lines for systemd's journal, which reads them at a line's beginning (sd-daemon(3))."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

_WARNING, _NOTICE, _INFO = "<4>", "<5>", "<6>"
_PRIORITIES: Final[Mapping[str, str]] = {
    "trouble": _WARNING,
    "not-reloaded": _WARNING,
    "not-notified": _WARNING,
    "damaged": _WARNING,
    "let-go": _NOTICE,
    "halted": _NOTICE,
    "paused": _NOTICE,
}
"""By the event's name; others are information."""


def is_journal(descriptor: int, stream: str | None) -> bool:
    """Whether what is written there goes to the journal.

    Args:
        descriptor: Of a file, which may be closed.
        stream: `$JOURNAL_STREAM`: the device and the inode of the journal's stream, as in `9:1234`; a child whose
            output goes elsewhere has inherited the variable all the same.
    """
    try:
        status = os.fstat(descriptor)
    except OSError:
        return False
    return stream == f"{status.st_dev}:{status.st_ino}"


def priority_of(event: Mapping[str, object]) -> str:
    """What the line of an event begins with in the journal; a window that missed the SLO is a warning, unless tried."""
    if event["event"] == "window" and not event["meets_slo"]:
        return _NOTICE if event["phase"] == "trial" else _WARNING
    return _PRIORITIES.get(str(event["event"]), _INFO)
