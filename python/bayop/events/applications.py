"""The events of `bayop app`."""

from __future__ import annotations

from typing import Final

from bayop.events.shape import COUNT, FLAG, NUMBER, TEXT, Event, by_name, each, maybe, record

APPLICATION: Final = Event(
    "application",
    "An application as its definition has it, and where its program is installed: null where it is not. Packages are "
    "by registry, knobs what is worth searching, and live how it is searched: null for as memcached is.",
    {"name": TEXT, "program": TEXT, "path": maybe(TEXT), "packages": by_name(each(TEXT)), "protocol": TEXT,
     "port": COUNT, "licence": TEXT, "prepares": FLAG, "ready": each(TEXT), "ready_within_s": NUMBER,
     "load": by_name({}), "knobs": by_name(TEXT),
     "live": maybe(record({"share": NUMBER, "window_requests": COUNT, "slo": TEXT}))},
)  # fmt: skip
INSTALLED: Final = Event(
    "installed",
    "The program is there: the packages that were brought for it, none where it was there already, and the services "
    "that came with them and were disabled.",
    {"name": TEXT, "path": TEXT, "brought": each(TEXT), "disabled": each(TEXT)},
)
LISTENING: Final = Event(
    "listening",
    "The application listens on this host and port, until it is ended. What it takes is counted in `cgroup`, where it "
    "has one of its own.",
    {"name": TEXT, "server": TEXT, "protocol": TEXT},
    optional={"cgroup": TEXT},
)
