"""The events of `bayop libos`; what it runs is announced like an application."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from bayop.events.applications import LISTENING
from bayop.events.shape import COUNT, NUMBER, TEXT, Event, by_name, one_of

BOOTED: Final = replace(
    LISTENING,
    says="The library OS listens on this host and port until it is ended, and so do its agent and what takes datagrams "
    "(`udp`), where it has them.",
    optional={"udp": TEXT, "agent": TEXT, "netns": TEXT},
)
COUNTED: Final = Event(
    "libos",
    "What a request costs: medians over machines, and the least and greatest of its instructions. Interrupts are those "
    "that the processor returned from, exceptions among them; halts are its sleeps. `layers` has the "
    "instructions by whose they are, on the library OS.",
    {"system": one_of("libos", "smoltcp", "linux", "linux-tuned"), "app": one_of("memcached", "tpcc"),
     "connections": COUNT, "qps": NUMBER, "instructions_per_request": NUMBER, "instructions_least": NUMBER,
     "instructions_greatest": NUMBER, "interrupts_per_request": NUMBER, "halts_per_request": NUMBER},
    {"layers": by_name(NUMBER)},
)  # fmt: skip
REPORTED: Final = Event("result", "The report is written, with `--out`.", {"report": TEXT})
