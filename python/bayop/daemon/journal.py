"""Lines in systemd's journal: with fields (systemd.io/JOURNAL_NATIVE_PROTOCOL), or priorities only (sd-daemon(3))."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from bayop.daemon.report import Line

SOCKET: Final = Path("/run/systemd/journal/socket")

_WARNING, _NOTICE, _INFO = 4, 5, 6
_PRIORITIES: Final[Mapping[str, int]] = {
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


def priority_of(event: Mapping[str, object]) -> int:
    """By syslog(3), of an event or of what is none (empty); a window that missed the SLO is a warning, unless tried."""
    if event.get("event") == "window" and not event["meets_slo"]:
        return _NOTICE if event["phase"] == "trial" else _WARNING
    return _PRIORITIES.get(str(event.get("event")), _INFO)


def fields_of(line: Line) -> dict[str, str]:
    """The fields of a line's entry; of its event those that are one value, as in `--json`, and known."""
    values = {name: value for name, value in line.event.items() if isinstance(value, str | int | float)}
    return {
        "MESSAGE": line.text,
        "PRIORITY": str(priority_of(line.event)),
        "SYSLOG_IDENTIFIER": "bayop",
        **{f"BAYOP_{name.upper()}": v if isinstance(v, str) else json.dumps(v) for name, v in values.items()},
    }


def datagram(fields: Mapping[str, str]) -> bytes:
    """An entry as the journal's socket takes it; what is no Unicode text is escaped."""
    return b"".join(_field(name.encode(), value.encode(errors="backslashreplace")) for name, value in fields.items())


def _field(name: bytes, value: bytes) -> bytes:
    if b"\n" in value:
        return name + b"\n" + len(value).to_bytes(8, "little") + value + b"\n"
    return name + b"=" + value + b"\n"


class Journal:
    """Writes lines as entries, and never waits for the journal's socket.

    Args:
        plain: Writes text to the journal's stream. It gets what the socket does not take (nobody listens, its queue is
            full, the entry is greater than a datagram), after its priority.
        address: The socket.
    """

    def __init__(self, plain: Callable[[str], None], address: Path = SOCKET) -> None:
        self._plain, self._address = plain, address

    def write(self, line: Line) -> None:
        """Writes one."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.settimeout(0.0)
                sender.sendto(datagram(fields_of(line)), str(self._address))
        except OSError:
            self._plain(f"<{priority_of(line.event)}>{line.text}")
