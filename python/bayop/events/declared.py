"""The events of every verb."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bayop.events.applications import APPLICATION, INSTALLED, LISTENING
from bayop.events.clients import LOAD, PROBE
from bayop.events.daemon import HISTORY, RUN
from bayop.events.library_os import BOOTED, COUNTED, REPORTED
from bayop.events.machines import DOCTOR, EXPORTED, FILES, KNOBS, RESTORED, STATUS
from bayop.events.operator import RELOADED, STANDING
from bayop.events.searches import DAY, EXPLAIN, LIVE, SWEEP, TUNE
from bayop.events.shape import COUNT, FLAG, NUMBER, TEXT, Event, each, maybe
from bayop.events.studies import (
    CAPTURED,
    CARBON,
    CLAIM,
    COLUMN,
    FIT,
    GOVERNED,
    INTERRUPTS,
    RECORDED,
    REPLAY,
    REPORT,
    STUDY_SHOW,
    WATCHED,
    WRITTEN,
)
from bayop.events.twins import CORES, DEFAULT, DEMO, ERRORS, IDLE_DAY, OUTCOME, TWIN_FIT, TWIN_RUN

ERROR: Final = Event(
    "error",
    "What went wrong, as the last line; the same stands on stderr. Any verb may print it.",
    {
        "kind": TEXT,
        "message": TEXT,
        "rule": maybe(TEXT),
        "value": maybe(TEXT),
        "place": maybe(TEXT),
        "hint": maybe(TEXT),
        "exit_code": COUNT,
    },
)

EVENTS: Final[Mapping[str, tuple[Event, ...]]] = {
    "demo": DEMO,
    "tune": TUNE,
    "run": RUN,
    "history": HISTORY,
    "explain": EXPLAIN,
    "doctor": DOCTOR,
    "init": (FILES,),
    "status": (STATUS, STANDING),
    "pause": (STANDING,),
    "resume": (STANDING,),
    "trigger": (STANDING,),
    "reload": (RELOADED,),
    "forget": (STANDING,),
    "export": (EXPORTED,),
    "restore": (RESTORED,),
    "knobs": KNOBS,
    "live": LIVE,
    "day": DAY,
    "app list": (APPLICATION,),
    "app install": (INSTALLED,),
    "app start": (LISTENING,),
    "libos run": (BOOTED,),
    "libos bench": (COUNTED, REPORTED),
    "load": LOAD,
    "probe": (PROBE,),
    "twin run": (TWIN_RUN,),
    "twin validate": (Event("errors", "The twin's errors at one load, in per cent.", ERRORS, DEFAULT),),
    "twin fit": TWIN_FIT,
    "twin crossvalidate": (
        Event(
            "errors",
            "The twin's errors at a load that it was not fitted on; not `complete` where the budget ended the fit.",
            {**ERRORS, "fitted_on": each(NUMBER), "complete": FLAG},
            DEFAULT,
        ),
    ),
    "twin generality": (OUTCOME,),
    "sweep": SWEEP,
    "study show": STUDY_SHOW,
    "study merge": (WRITTEN,),
    "study export": (WRITTEN,),
    "study import": (WRITTEN,),
    "study columns": (COLUMN,),
    "report": REPORT,
    "fit": FIT,
    "interrupts watch": (WATCHED,),
    "interrupts record": (CAPTURED,),
    "interrupts show": INTERRUPTS,
    "interrupts convert": (
        Event("written", "The log is written.", {"file": TEXT, "out": TEXT, "records": COUNT, "bytes": COUNT}),
    ),
    "idle replay": (REPLAY,),
    "idle cores": (CORES,),
    "idle day": IDLE_DAY,
    "idle govern": (GOVERNED,),
    "idle record": (RECORDED,),
    "idle synthesize": (Event("written", "The trace is written.", {"out": TEXT, "periods": COUNT}),),
    "carbon": (CARBON,),
    "claims": (CLAIM,),
    "config": (
        Event(
            "default", "A flag's default of the user's.", {"verb": TEXT, "flag": TEXT, "value": TEXT, "source": TEXT}
        ),
    ),
}
"""The events of every verb, in the order in which it prints them; `ERROR` may end any of them."""
