"""What `bayop run` says in mode advise, and what came of it."""

from __future__ import annotations

from typing import Final

from bayop.events.shape import COUNT, NUMBER, QUANTITIES, SETTING, TEXT, Event, maybe, record

ADVICE: Final = (
    Event(
        "advice",
        "What a search would do at the present load: the setting it would try `first`, the one it would hold (null: "
        "the default), and what that is expected to measure. `saving` is against windows of the default, with the "
        "ends of its 95 % interval.",
        {"time": TEXT, "service": TEXT, "source": TEXT, "qps": NUMBER, "setting": maybe(SETTING),
         "first": maybe(SETTING), "trials": COUNT, "predicted": QUANTITIES, "relative_sd": QUANTITIES,
         "slo_probability": maybe(NUMBER), "default_w": NUMBER,
         "saving": record(dict.fromkeys(("power_w", "low_w", "high_w", "share"), NUMBER))},
    ),
    Event(
        "no-advice",
        "What is known is too far from this machine, or from this load, to advise: the interval of the saving is wider "
        "than the default's power.",
        {"time": TEXT, "service": TEXT, "source": TEXT, "qps": NUMBER, "predicted": QUANTITIES,
         "relative_sd": QUANTITIES, "slo_probability": NUMBER, "default_w": NUMBER},
    ),
    Event(
        "advice-proven",
        "In mode apply: the first window in which the setting of the last advice was in effect, at its load. `errors` "
        "is how far it lies above what was predicted, as a share of that.",
        {"time": TEXT, "service": TEXT, "setting": SETTING, "qps": NUMBER, "predicted": QUANTITIES,
         "relative_sd": QUANTITIES, "measured": QUANTITIES, "errors": QUANTITIES},
    ),
)  # fmt: skip
