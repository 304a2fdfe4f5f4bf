"""The events of `bayop app`."""

from __future__ import annotations

from typing import Final

from bayop.events.shape import COUNT, TEXT, Event, each, maybe

APPLICATION: Final = Event(
    "application",
    "An application, and where its program is installed: null where it is not.",
    {"name": TEXT, "program": TEXT, "path": maybe(TEXT), "packages": each(TEXT), "protocol": TEXT, "port": COUNT,
     "licence": TEXT},
)  # fmt: skip
INSTALLED: Final = Event(
    "installed",
    "The program is there: the packages that were brought for it, none where it was there already, and the services "
    "that came with them and were disabled.",
    {"name": TEXT, "path": TEXT, "brought": each(TEXT), "disabled": each(TEXT)},
)
LISTENING: Final = Event(
    "listening",
    "The application listens on this host and port, until it is ended.",
    {"name": TEXT, "server": TEXT, "protocol": TEXT},
)
