"""The events of what tries settings: `tune`, `live`, `day` and `sweep`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bayop.events.quantities import CPU_SAVING, SAVING, SPACE
from bayop.events.shape import (
    COUNT,
    FLAG,
    NUMBER,
    QUANTITIES,
    SETTING,
    TEXT,
    VALUE,
    Event,
    Shape,
    each,
    maybe,
    one_of,
    record,
)

_WINDOW: Final[Shape] = {"type": "object", "additionalProperties": maybe({"type": ["number", "string"]})}
_TRIED: Final[Mapping[str, Shape]] = {
    "setting": SETTING, "measured": QUANTITIES, "meets_slo": FLAG, "cut_short": maybe(TEXT),
    "incumbent": maybe(SETTING), "chosen_in_s": NUMBER,
}  # fmt: skip
_ALTERNATIVE: Final = (
    "what the model expects of a setting that differs from the result in one knob. `objective_change` is that of the "
    "objective, as a share of it."
)
_ALTERNATIVE_FIELDS: Final[Mapping[str, Shape]] = {
    "knob": TEXT, "move": one_of("lower", "higher", "fastest"), "value": VALUE, "predicted": QUANTITIES,
    "slo_probability": NUMBER, "objective_change": NUMBER,
}  # fmt: skip
EXPLAIN: Final = (
    Event(
        "held",
        "What a service holds, or has held last, and what the model expects of it at the load of the last window; "
        "`search` is its last one, since which what that has found was `polished`, or not; `margin` is how far the "
        "latency is expected below the SLO's limit, as a share of that.",
        {"service": TEXT, "setting": SETTING, "search": COUNT, "reason": TEXT, "polished": FLAG, "slo": TEXT,
         "qps": NUMBER,
         "predicted": QUANTITIES, "relative_sd": QUANTITIES, "slo_probability": NUMBER, "margin": NUMBER},
    ),
    Event("alternative", f"{_ALTERNATIVE[0].upper()}{_ALTERNATIVE[1:]}", _ALTERNATIVE_FIELDS),
    Event(
        "slo",
        "What a tighter or looser SLO would have held (null: nothing is trusted to meet it), and how much more power "
        "that is expected to draw.",
        {"slo": TEXT, "setting": maybe(SETTING), "change_w": maybe(NUMBER)},
    ),
)  # fmt: skip
TUNE: Final = (
    Event(
        "start",
        "The search begins; `estimated` lists quantities that a model stands in for, `warnings` what makes the numbers "
        "doubtful.",
        {"target": TEXT, "description": TEXT, "estimated": each(TEXT), "space": SPACE, "slo": TEXT, "objective": TEXT,
         "headroom": NUMBER, "small_steps": FLAG, "seed": COUNT, "warnings": each(TEXT)},
    ),
    Event(
        "trial",
        "A setting was applied and measured. `incumbent` is what would be held now; null while no trial is trusted.",
        {"trial": COUNT, **_TRIED},
    ),
    Event(
        "window",
        "With `--hold`: what was found is held and polished, one window after the other.",
        {"window": COUNT, **_TRIED},
    ),
    Event(
        "pair",
        "The default and the result were measured again, one after the other.",
        {"pair": COUNT},
        more=_WINDOW,
    ),
    Event("alternative", f"With `--explain`: {_ALTERNATIVE}", _ALTERNATIVE_FIELDS),
    Event(
        "result",
        "The end. `setting` is null where none is trusted to meet the SLO, or none is worth keeping; `held` says "
        "whether it stays applied, and `undo` which command takes it back.",
        {"setting": maybe(SETTING), "held": FLAG, "trials": COUNT,
         "stopped": one_of("converged", "infeasible", "exhausted", "budget", "interrupted"),
         "predicted": maybe(QUANTITIES), "default": maybe(QUANTITIES), "saving": maybe(SAVING),
         "warnings": each(TEXT), "undo": maybe(TEXT)},
    ),
    Event(
        "dry-run",
        "With `--dry-run`, the only event: what the first trial would change.",
        {"setting": SETTING,
         "changes": each(record({"knob": TEXT, "before": maybe(VALUE), "requested": VALUE})), "space": SPACE},
    ),
)  # fmt: skip
_POINT: Final[Mapping[str, Shape]] = {
    "setting": SETTING, "measured": QUANTITIES, "cut_short": maybe(TEXT),
}  # fmt: skip
LIVE: Final = (
    Event(
        "start",
        "The rig is up, and the default was measured.",
        {"machine": TEXT, "slo": TEXT, "objective": TEXT, "qps": NUMBER, "seed": COUNT, "estimated": each(TEXT),
         "busy_before": maybe(NUMBER)},
    ),
    Event("sweep", "A setting of the sweep was measured.", _POINT),
    Event("search", "A trial of the search was measured.", _POINT),
    Event("again", "A winner was measured again, in turns with its rivals.", _POINT),
    Event("data", "The record was written; `failure` says what ended the experiment early.",
          {"file": TEXT, "failure": maybe(TEXT)}),
    Event(
        "result",
        "The end. `saving` is against the default, and so is `cpu_saving`, of the service's own processor time per "
        "request, in us.",
        {"saving": maybe(SAVING), "cpu_saving": maybe(CPU_SAVING),
         "found": maybe(SETTING), "best_of_sweep": maybe(SETTING), "trials": COUNT, "shortfall": maybe(NUMBER),
         "stopped": maybe(TEXT), "report": TEXT},
    ),
)  # fmt: skip
DAY: Final = (
    Event(
        "start",
        "The rig is up. The day's load, each hour of which takes `hour_s`.",
        {"machine": TEXT, "slo": TEXT, "objective": TEXT, "curve": TEXT, "hourly_qps": each(NUMBER), "hour_s": NUMBER,
         "seed": COUNT, "busy_before": maybe(NUMBER)},
    ),
    Event("page", "`bayop run` serves its page until the day is over.", {"url": TEXT}),
    Event(
        "turn",
        "A half of an hour is over, served by the default alone or with `bayop run`. `latency_us` is at the SLO's "
        "quantile, `cpu_us` the service's processor time and `polls` the machine's NET_RX softirqs for each request.",
        {"hour": COUNT, "who": one_of("default", "bayop"), "qps": NUMBER, "latency_us": maybe(NUMBER),
         "requests": COUNT, "requests_over": COUNT, "cpu_us": maybe(NUMBER), "polls": maybe(NUMBER)},
    ),
    Event("data", "The record was written; `failure` says what ended the day early.",
          {"file": TEXT, "failure": maybe(TEXT)}),
    Event(
        "result",
        "The end. Both savings are of the whole turns of BayOp against those of the default, for a request, a pair an "
        "hour; `brain_cpu` is how many processors `bayop run` took itself; `restored` says whether the device had all "
        "its own settings back.",
        {"cpu_saving": maybe(CPU_SAVING), "polls_saving": maybe(CPU_SAVING), "over_share_default": NUMBER,
         "over_share_bayop": NUMBER, "searches": COUNT, "trials": COUNT, "held_share": NUMBER, "brain_cpu": NUMBER,
         "restored": maybe(FLAG), "report": TEXT},
    ),
)  # fmt: skip
SWEEP: Final = (
    Event(
        "start",
        "The sweep begins, or goes on: `done` of its trials were measured before.",
        {"study": TEXT, "target": TEXT, "description": TEXT, "space": SPACE, "cells": COUNT,
         "repeats": record({"least": COUNT, "most": COUNT, "quantity": TEXT, "half_width": maybe(NUMBER)}),
         "trials": COUNT, "done": COUNT, "seed": COUNT, "out": TEXT},
    ),
    Event(
        "trial",
        "One trial was measured.",
        {"trial": COUNT, "repeat": COUNT, "setting": SETTING, "effective": SETTING, "measured": QUANTITIES,
         "cut_short": maybe(TEXT)},
        {"qps_offered": NUMBER, "message_bytes": NUMBER},
    ),
    Event("result", "The study is written; `imprecise` cells are not known as well as was asked for.",
          {"trials": COUNT, "imprecise": COUNT, "out": TEXT}),
)  # fmt: skip
