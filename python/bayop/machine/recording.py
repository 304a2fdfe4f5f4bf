"""A recording of a machine without what identifies it."""

from __future__ import annotations

import re
from typing import Final

from bayop import __version__

_USUAL: Final = re.compile(
    r"lo|(eth|ib|bond|team|ifb|veth|virbr|docker|wlan)\d+|(en|ib|wl)(P\d+)?(o|s|p)\d+[a-z0-9]{0,12}"
)
"""Names of network devices that say nothing of who uses them (systemd.net-naming-scheme(7))."""

_SECRETS: Final = (
    (r"\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b", "00:00:00:00:00:00"),
    (r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "00000000-0000-0000-0000-000000000000"),
    (r"(?<![\w:])(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}(?![\w:])", "0::0"),
    (r"(?<![\w:])[0-9a-f:]*::[0-9a-f:]*[0-9a-f](?![\w:])", "0::0"),
    (r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])", "0.0.0.0"),  # noqa: S104 -- nothing listens there
)
"""MAC addresses, UUIDs, IPv6 and IPv4 addresses, and what stands in their place."""

_DEVICE: Final = re.compile(r"^=== (?:sys/class/net/|ethtool/)([^/\s]+?)(?:\.toml|/)", re.MULTILINE)


def anonymous(text: str, *, host: str) -> str:
    """A recorded machine with a comment at its head, and without addresses, UUIDs, its name and telling device names.

    Args:
        text: The machine in the format of `tests/machines`, which holds no more than BayOp reads.
        host: Its name, which may stand in the kernel's release or a device's name.
    """
    for number, device in enumerate(sorted({name for name in _DEVICE.findall(text) if not _USUAL.fullmatch(name)})):
        text = _replace_word(text, device, f"net{number}")
    for pattern, neutral in _SECRETS:
        text = re.sub(pattern, neutral, text, flags=re.IGNORECASE)
    for name in {host, host.partition(".")[0]}:
        if len(name) > 2 and name != "localhost":
            text = _replace_word(text, name, "host")
    return (
        f"# Recorded by bayop doctor --bundle, version {__version__}: what BayOp reads of a machine, and no more.\n"
        "# Addresses, UUIDs, serial numbers, the machine's name and unusual devices' are replaced or left out.\n"
        f"# source: a user's machine\n{text}"
    )


def _replace_word(text: str, word: str, neutral: str) -> str:
    return re.sub(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])", neutral, text, flags=re.IGNORECASE)
