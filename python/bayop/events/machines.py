"""The events of what looks at a machine and its agent."""

from __future__ import annotations

from typing import Final

from bayop.events.quantities import DOMAIN
from bayop.events.shape import COUNT, FLAG, NUMBER, SETTING, TEXT, VALUE, Event, by_name, each, maybe, one_of, record

_TENURE: Final = {"holder": TEXT, "age_s": NUMBER}
_WRITE: Final = record({"asked": VALUE, "effective": maybe(VALUE), "duration_ms": NUMBER, "error": maybe(TEXT)})
DOCTOR: Final = (
    Event(
        "finding",
        "What one look at the machine found.",
        {"check": TEXT, "status": one_of("ok", "note", "missing", "blocker"), "found": TEXT, "why": TEXT,
         "remedy": maybe(TEXT)},
    ),
    Event(
        "verdict",
        "Whether anything live can run here, and what each verb can do, with the reasons.",
        {"live": FLAG, "verbs": each(record({"verb": TEXT, "can": FLAG, "live": FLAG, "reasons": each(TEXT),
                                             "remarks": each(TEXT)}))},
    ),
    Event(
        "delay",
        "With `--calibrate nic`: what the NIC makes of one delay; null where its traffic was too thin to tell.",
        {"requested_us": NUMBER, "effective_us": maybe(NUMBER), "packets_per_interrupt": NUMBER},
    ),
    Event("bundle", "With `--bundle`: the recording is written, with so many files of the machine.",
          {"file": TEXT, "files": COUNT}),
    Event(
        "exercise",
        "With `--exercise`: one knob in one place, and the writes that set it and put it back; `failure` says what did "
        "not go as it should.",
        {"knob": TEXT, "found": maybe(VALUE), "attempts": each(_WRITE), "restored": _WRITE, "failure": maybe(TEXT)},
    ),
    Event("exercised", "With `--exercise`, the end.", {"places": COUNT, "failed": each(TEXT)}),
)  # fmt: skip
FILES: Final = Event(
    "written",
    "The files are written, from what was found; `meter` is null where power would be an estimate.",
    {"files": each(TEXT), "nic": maybe(TEXT), "meter": maybe(TEXT),
     "services": each(record({"name": TEXT, "port": COUNT}))},
)  # fmt: skip
EXPORTED: Final = Event(
    "exported",
    "The setting, every knob with its place, as others write it: each file's text, by its name in a profile of TuneD, "
    "else by the format's; `out` is null where nothing was written.",
    {"as": one_of("tuned", "script", "networkd"), "setting": SETTING, "out": maybe(TEXT), "files": by_name(TEXT)},
)
STATUS: Final = Event(
    "status",
    "What an agent holds.",
    {
        "agent": TEXT, "version": TEXT, "mode": TEXT, "lease": maybe(record({**_TENURE, "ends_in_s": maybe(NUMBER)})),
        "kept": FLAG, "applied_by": maybe(record(_TENURE)),
        "held": each(record({"knob": TEXT, "state": one_of("held", "stood_down", "latched"), "found": maybe(VALUE),
                             "requested": maybe(VALUE), "effective": maybe(VALUE), "reason": maybe(TEXT)})),
        "hold": maybe(record({"setting": SETTING, "fall_back": SETTING, "age_s": NUMBER, "fell_back": maybe(record(
            {"condition": one_of("latency", "silence", "load", "time"), "seen": TEXT, "age_s": NUMBER,
             "failure": maybe(TEXT)}))})),
        "damage": maybe(TEXT),
    },
)  # fmt: skip
RESTORED: Final = Event(
    "restored",
    "What was put back, what was left because somebody else had changed it, and what the kernel refused.",
    {"restored": each(TEXT), "stood_down": each(TEXT), "latched": by_name(TEXT), "lease_ended": maybe(TEXT)},
)
KNOBS: Final = (
    Event(
        "knob",
        "One knob of the catalogue.",
        {"id": TEXT, "summary": TEXT, "unit": maybe(TEXT), "place": TEXT, "domain": TEXT, "read": TEXT, "write": TEXT,
         "undo": TEXT, "safest": one_of("low", "high", None), "only_with": by_name(TEXT), "opt_in": FLAG,
         "hazards": each(TEXT), "source": TEXT},
    ),
    Event(
        "place",
        "With `--agent`: one knob in one place of a machine.",
        {"knob": TEXT, "at": TEXT, "domain": DOMAIN, "allowed": maybe(DOMAIN), "effective": maybe(VALUE),
         "error": maybe(TEXT)},
    ),
    Event("missing", "With `--agent`: a knob that the machine does not have, and why.", {"knob": TEXT, "why": TEXT}),
)  # fmt: skip
