"""The events of `bayop run`, and of what it remembers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bayop.events.advice import ADVICE
from bayop.events.operator import SAID
from bayop.events.savings import HELD, SAVING
from bayop.events.shape import (
    COUNT,
    FLAG,
    NUMBER,
    QUANTITIES,
    SETTING,
    TEXT,
    Event,
    Shape,
    by_name,
    each,
    maybe,
    one_of,
    record,
)

_SERVICE: Final[Mapping[str, Shape]] = {"time": TEXT, "service": TEXT}
_ENDED: Final = one_of("converged", "infeasible", "exhausted", "budget", "interrupted", "quiet", "overspent", "warm")
_SEEN: Final[Mapping[str, Shape]] = {
    "phase": one_of("default", "trial", "hold", "switchback", "fall-back", "other"),
    "setting": maybe(SETTING), "duration_s": NUMBER,
    "qps": NUMBER, "power_w": maybe(NUMBER), "latency_us": maybe(NUMBER), "meets_slo": FLAG, "search": maybe(COUNT),
    "cut_short": maybe(TEXT),
}  # fmt: skip
RUN: Final = (
    Event(
        "service",
        "With `--check`, the only event, one for each service: what it would do, what one window of the machine as it "
        "is has shown, and what is missing.",
        {"service": TEXT, "mode": TEXT, "agent": TEXT, "slo": TEXT, "would": each(TEXT), "seen": QUANTITIES,
         "notes": each(TEXT),
         "problems": each(record({"message": TEXT, "place": maybe(TEXT), "hint": maybe(TEXT)}))},
    ),
    Event("page", "The page is served.", {"time": TEXT, "url": TEXT}),
    Event(
        "start",
        "The file was read; `holder` is who we are to agents.",
        {"time": TEXT, "file": TEXT, "state": TEXT, "services": each(TEXT), "holder": TEXT},
    ),
    Event(
        "watching",
        "A service's machine was reached, and measured as it is.",
        {**_SERVICE, "mode": TEXT, "description": TEXT, "measured": QUANTITIES},
    ),
    Event(
        "window",
        "A window has ended. `setting` is null for the default, and in the phase `other`, when somebody else's is in "
        "effect; `latency_us` is at the SLO's quantile; `over_share` is the share of the requests that were slower "
        "than the limit, as far as the latency quantiles show it.",
        {**_SERVICE, **_SEEN, "over_share": NUMBER},
    ),
    Event(
        "search",
        "A search has ended; what it found is held. `setting` is null where that is the default. One that ended `warm` "
        "tried nothing: the setting was known for the load, which is there or comes soon.",
        {**_SERVICE, "search": COUNT, "reason": TEXT, "qps": NUMBER, "trials": COUNT, "stopped": _ENDED,
         "setting": maybe(SETTING)},
    ),
    *ADVICE,
    Event(
        "trouble",
        "A service had to let go of its machine, and begins anew after a pause. Its `cause` is `agent` when the agent "
        "does not answer, `drift` when the machine or its lease is not as it was left.",
        {**_SERVICE, "cause": one_of("agent", "drift", "other"), "message": TEXT, "hint": maybe(TEXT),
         "again_in_s": NUMBER},
    ),
    Event(
        "fell-back",
        "The agent held a setting no more, by itself, because a condition of the hold broke; `why` is what it saw.",
        {**_SERVICE, "condition": one_of("latency", "silence", "load", "time"), "why": TEXT},
    ),
    *HELD,
    Event(
        "not-notified",
        "A notice could not be delivered and is lost: of which event, or how many at once, and why.",
        {"time": TEXT, "of": TEXT, "why": TEXT},
    ),
    *SAID,
    Event(
        "reloaded",
        "The file was read anew; a service whose table has changed is ended and begun.",
        {"time": TEXT, "begun": each(TEXT), "ended": each(TEXT), "unchanged": each(TEXT)},
    ),
    Event(
        "damaged",
        "A row of the state is not as it was written, and is left out, or somebody touched the files beside it.",
        {"time": TEXT, "message": TEXT, "hint": maybe(TEXT)},
    ),
    Event("not-reloaded", "The file can't be used, the old one stays.",
          {"time": TEXT, "message": TEXT, "hint": maybe(TEXT)}),
    Event("stop", "The end; `restored` says whether every machine has its own settings back.",
          {"time": TEXT, "restored": FLAG}),
)  # fmt: skip
HISTORY: Final = (
    Event(
        "search",
        "A search; times in s since 1970. `setting` is null where the default was held.",
        {"service": TEXT, "number": COUNT, "reason": TEXT, "start_s": NUMBER, "end_s": NUMBER, "qps": NUMBER,
         "trials": COUNT, "stopped": _ENDED, "setting": maybe(SETTING)},
    ),
    Event(
        "window",
        "A window; `over_share` is the share of its requests that were slower than the SLO's limit. Where `grain_s` is "
        "not 0, the row stands for all windows of its kind that began in so many seconds: sums of time, and means.",
        {"service": TEXT, "start_s": NUMBER, "over_share": NUMBER, "grain_s": COUNT, **_SEEN},
    ),
    Event(
        "event",
        "What else has happened: `what` is the event's name in `bayop run --json`, `fields` its other fields.",
        {"service": maybe(TEXT), "time_s": NUMBER, "what": TEXT, "fields": by_name({})},
    ),
    SAVING,
    Event("table", "With `--out`, the only event: the table was written.", {"of": TEXT, "rows": COUNT, "file": TEXT}),
)  # fmt: skip
