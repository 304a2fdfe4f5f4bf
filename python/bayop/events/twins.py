"""The events of what plays on the twin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

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
    record,
)

TWIN_RUN: Final = Event(
    "window",
    "What the twin says of one setting.",
    {"setting": SETTING, "measured": QUANTITIES, "cut_short": maybe(TEXT)},
    {"qps_offered": NUMBER, "message_bytes": NUMBER, "meets_slo": FLAG},
)
ERRORS: Final[Mapping[str, Shape]] = {
    "app": TEXT, "os": TEXT, "load": NUMBER, "cells": COUNT, "mape_pct": by_name(maybe(NUMBER)),
    "mape_all_cells_pct": by_name(maybe(NUMBER)),
}  # fmt: skip
DEFAULT: Final = {"default_error_pct": by_name(maybe(NUMBER))}
TWIN_FIT: Final = (
    Event(
        "fit",
        "Which numbers of the profile were fitted; not `complete` where the budget ended the fit.",
        {"profile": TEXT, "parameters": by_name(record({"before": NUMBER, "after": NUMBER})), "out": TEXT,
         "complete": FLAG},
    ),
    *(
        Event(when, f"The twin's errors {when} the fit at one load, in per cent.", {**ERRORS, "fitted": FLAG},
              DEFAULT)
        for when in ("before", "after")
    ),
    Event(
        "capture",
        "What a capture shows, by the twin's quantities.",
        {
            "capture": TEXT, "setting": SETTING, "cpus": COUNT, "interrupts": COUNT, "duration_s": NUMBER,
            "qps": NUMBER, "qps_given": FLAG, "freq_mhz": NUMBER, "delay_us": maybe(NUMBER), "idle": by_name(NUMBER),
            "measured": by_name(NUMBER),
        },
    ),
    Event(
        "parameter",
        "One number of the profile after a fit to captures: fitted, with its standard error, or assumed.",
        {
            "key": TEXT, "before": NUMBER, "after": NUMBER, "sd": maybe(NUMBER), "fitted": FLAG, "evidence": TEXT,
        },
    ),
    Event(
        "prediction",
        "What a fit says of a capture that it has seen or, held out, one to the others alone.",
        {
            "capture": TEXT, "held_out": FLAG, "measured": by_name(NUMBER), "predicted": by_name(NUMBER),
            "error_pct": by_name(NUMBER),
        },
    ),
)  # fmt: skip
OUTCOME: Final = Event(
    "outcome",
    "How one search ended.",
    {
        "service": TEXT, "machine": TEXT, "slo": TEXT, "peak_qps": NUMBER, "load_share": NUMBER, "qps": NUMBER,
        "seed": COUNT, "trial_s": NUMBER, "trials": COUNT, "stopped": TEXT, "setting": maybe(SETTING),
        "default_power_w": NUMBER, "default_latency_us": NUMBER, "default_utilization": NUMBER, "power_w": NUMBER,
        "latency_us": NUMBER, "utilization": NUMBER, "saving": NUMBER, "saving_ci": NUMBER, "meets_slo": FLAG,
    },
)  # fmt: skip
CORES: Final = Event(
    "cores",
    "How each core spent its time at one load, without the balancer of awakened requests or with it; where it is "
    "`overloaded`, less was served than offered.",
    {"qps_offered": NUMBER, "qps_served": maybe(NUMBER), "overloaded": FLAG, "balancer": TEXT, "power_w": NUMBER,
     "operating": each(NUMBER), "residency": by_name(each(NUMBER))},
)  # fmt: skip
_IDLE_TOTAL: Final = record(
    {"energy_j": NUMBER, "power_w": NUMBER, "worst_us": NUMBER, "over_share": NUMBER, "cut_short": FLAG}
)
IDLE_DAY: Final = (
    Event(
        "window",
        "A step of the day under one policy, its latency at the SLO's quantile: a lower bound where `cut_short` says "
        "why the step ended early. Where it is `overloaded`, less was served than offered, and the SLO is missed. Null "
        "is what nobody published.",
        {"policy": TEXT, "start_s": NUMBER, "duration_s": NUMBER, "qps_offered": NUMBER, "qps_served": maybe(NUMBER),
         "overloaded": FLAG, "power_w": NUMBER, "latency_us": NUMBER, "cut_short": maybe(TEXT),
         "published_power_w": maybe(NUMBER), "published_latency_us": maybe(NUMBER)},
    ),
    Event(
        "total",
        "The day under one policy: energy, mean power, the worst latency (a lower bound where a step was `cut_short`) "
        "and the share of time over the SLO; and the share in which less was served than offered.",
        {"policy": TEXT, "slo": TEXT, "duration_s": NUMBER, "overloaded_share": NUMBER, "simulated": _IDLE_TOTAL,
         "published": maybe(_IDLE_TOTAL)},
    ),
)  # fmt: skip
DEMO: Final = (
    Event(
        "start",
        "The day begins.",
        {"app": TEXT, "slo": TEXT, "objective": TEXT, "trigger": TEXT, "seed": COUNT, "hourly_qps": each(NUMBER),
         "machines": by_name(TEXT)},
    ),
    Event("played", "One configuration has played the day.", {"run": TEXT}),
    Event(
        "run",
        "What the day was under one configuration.",
        {"run": TEXT, "energy_j": NUMBER, "saving": NUMBER, "latency_us": NUMBER, "hours_over": NUMBER,
         "requests": NUMBER, "requests_over": NUMBER, "searches": COUNT, "trials": COUNT,
         "bound_share": maybe(NUMBER)},
    ),
    Event("result", "The report is written.", {"report": TEXT}),
)  # fmt: skip
