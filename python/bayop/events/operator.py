"""What `bayop run` answers to an operator, and says when one has spoken."""

from __future__ import annotations

from typing import Final

from bayop.events.savings import SAVED
from bayop.events.shape import COUNT, FLAG, NUMBER, SETTING, TEXT, Event, each, maybe, one_of, record

STANDING: Final = Event(
    "service",
    "How a service of `bayop run` stands. `setting` is in effect (null: the default, or unknown where `restored` is "
    "false); qps, power, latency and `margin` (how far the latency was below the SLO's limit, as a share of it) are of "
    "the last window since the machine was reached, and `current` says whether that window had the setting which is in "
    "effect now; `waits_for` is the service of its group that is searched before it; `restored` says whether the "
    "machine is known to have its own settings; `saved` is of the last seven days.",
    {
        "service": TEXT, "mode": one_of("observe", "advise", "apply"),
        "doing": one_of("beginning", "paused", "trouble", "default", "trial", "hold", "switchback", "fall-back",
                         "other"),
        "setting": maybe(SETTING), "slo": TEXT, "qps": maybe(NUMBER), "power_w": maybe(NUMBER),
        "latency_us": maybe(NUMBER), "margin": maybe(NUMBER), "current": FLAG, "budget_left": maybe(NUMBER),
        "quiet_until": maybe(TEXT), "waits_for": maybe(TEXT), "paused_by": each(one_of("operator", "stop file")),
        "restored": FLAG, "trouble": maybe(TEXT), "saved": maybe(record(SAVED)),
    },
)  # fmt: skip
RELOADED: Final = Event(
    "reloaded",
    "The file was read anew; a service whose table has changed is ended and begun.",
    {"begun": each(TEXT), "ended": each(TEXT), "unchanged": each(TEXT)},
)
_OF_SERVICE: Final = {"time": TEXT, "service": TEXT, "by": TEXT}
SAID: Final = (
    Event(
        "paused",
        "A service's machine has its own settings, as an operator wants; or every machine, while there is a stop file.",
        {"time": TEXT},
        {"service": TEXT, "by": TEXT, "file": TEXT},
    ),
    Event("resumed", "An operator lets a service go on, or the stop file is gone.", {"time": TEXT},
          {"service": TEXT, "by": TEXT, "file": TEXT}),
    Event("asked", "An operator wants a search of a service now.", _OF_SERVICE),
    Event("forgotten", "A service has forgotten what its settings have measured, as an operator wants.",
          {**_OF_SERVICE, "observations": COUNT}),
    Event(
        "halted",
        "A service tries nothing for now: in quiet hours, or when its error budget is spent.",
        {"time": TEXT, "service": TEXT, "why": one_of("quiet", "overspent")},
    ),
    Event("unhalted", "It may search again.", {"time": TEXT, "service": TEXT}),
    Event("waits", "A service would search, and waits until another of its group is not searched any more.",
          {"time": TEXT, "service": TEXT, "waits_for": TEXT}),
)  # fmt: skip
