"""A setting as a profile of TuneD: its plug-ins `net` and `sysfs` (tuned.conf(5)), which put back what they found."""

from __future__ import annotations

from collections.abc import Iterator

from bayop.export.spelled import Spelled


def tuned(spelled: Spelled) -> str:
    """The profile's `tuned.conf`."""
    return "\n".join(_lines(spelled)) + "\n"


def _lines(spelled: Spelled) -> Iterator[str]:
    yield "# Written by bayop export. A profile takes the place of the one in effect, or includes it: include=NAME."
    yield "# As /etc/tuned/NAME/tuned.conf (from TuneD 2.23 on /etc/tuned/profiles/NAME), then: tuned-adm profile NAME"
    yield "[main]"
    yield f"summary=What BayOp found: {spelled.summary}"
    for device in spelled.devices:
        parameters = (f"{c.parameter} {c.value}" for c in spelled.coalescing if c.device == device)
        yield ""
        yield f"[bayop_{device}]"
        yield "type=net"
        yield f"devices={device}"
        yield "dynamic=0"
        yield f"coalesce={' '.join(parameters)}"
    if spelled.files:
        yield ""
        yield "[bayop_files]"
        yield "type=sysfs"
        yield from (f"{file.pattern}={file.text}" for file in spelled.files)
