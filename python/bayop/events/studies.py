"""The events of what reads measurements: studies, reports, models, logs, traces, carbon, claims."""

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
    VALUE,
    Event,
    Shape,
    by_name,
    each,
    maybe,
    record,
)

_INTERVAL: Final = record({"value": maybe(NUMBER), "low": maybe(NUMBER), "high": maybe(NUMBER)})
_WORK: Final[Mapping[str, Shape]] = {
    "target": TEXT, "app": TEXT, "machine": TEXT, "os": TEXT, "vantage": TEXT, "qps_offered": NUMBER,
    "message_bytes": NUMBER,
}  # fmt: skip
WRITTEN: Final = Event("written", "The study is written.", {"path": TEXT, "trials": COUNT, "columns": COUNT})
STUDY_SHOW: Final = (
    Event(
        "campaign",
        "What one study of the file holds.",
        {"study": TEXT, "trials": COUNT, "settings": COUNT, "default_trials": COUNT,
         "repeats": record({"least": COUNT, "most": COUNT}), "knobs": by_name(each(VALUE)),
         "not_trusted": by_name(COUNT)},
        more={},
    ),
    Event("quantity", "The spread of one quantity over all trials that are trusted.",
          {"quantity": TEXT, "trials": COUNT, "least": NUMBER, "median": NUMBER, "greatest": NUMBER}),
)  # fmt: skip
COLUMN: Final = Event(
    "column",
    "One column that a study may have.",
    {"column": TEXT, "kind": TEXT, "unit": TEXT, "meaning": TEXT, "required": FLAG, "measured": FLAG},
)
_SAVED: Final[Mapping[str, Shape]] = {
    "under": TEXT, "against": by_name(VALUE), "setting": SETTING, "savings": by_name(_INTERVAL),
}  # fmt: skip
REPORT: Final = (
    Event(
        "start",
        "The studies were read.",
        {"studies": each(TEXT), "trials": COUNT, "left_out": by_name(COUNT), "slo": TEXT, "seed": COUNT},
    ),
    Event("front", "A setting and how surely it lies on the front, with means and their standard errors (`se.`).",
          {"setting": SETTING, "repeats": COUNT, "on_front": maybe(NUMBER)}, _WORK, more=maybe(NUMBER)),
    Event("best", "The setting that meets the SLO for the least power, and how surely.",
          {"under": TEXT, "setting": SETTING, "repeats": COUNT, "meets": maybe(NUMBER), "rivals": maybe(COUNT)}, _WORK,
          more=maybe(NUMBER)),
    Event("saving", "What a setting saves against the default, as shares with 95 % intervals.", _SAVED, _WORK),
    Event("knobs", "The same of knobs that were tuned alone.", {"tuned": TEXT, **_SAVED}, _WORK),
    Event("result", "The page is written.", {"report": TEXT}),
)  # fmt: skip
FIT: Final = (
    Event(
        "cells",
        "What is fitted.",
        {"os": maybe(TEXT), "slo": TEXT, "loads_qps": each(NUMBER), "cells": COUNT, "beyond_slo": COUNT,
         "short_delay": COUNT},
    ),
    Event(
        "parameters",
        "A model's parameters at one load, or (null) at all of them.",
        {"os": maybe(TEXT), "model": TEXT, "load_qps": maybe(NUMBER),
         "parameters": by_name(record({"unit": TEXT, "value": NUMBER, "standard_error": NUMBER, "low": maybe(NUMBER),
                                       "high": maybe(NUMBER)}))},
    ),
    Event(
        "errors",
        "A model's mean absolute errors, as shares: in sample, of unseen settings, of unseen loads.",
        {"os": maybe(TEXT), "model": TEXT, "quantity": TEXT, "load_qps": NUMBER, "cells": COUNT,
         "in_sample": maybe(NUMBER), "settings_out": maybe(NUMBER), "load_out": maybe(NUMBER)},
    ),
    Event(
        "prior",
        "With --prior: the class of servers that was learned.",
        {"file": TEXT, "servers": COUNT, "studies": each(TEXT),
         "parameters": by_name(record({"mean": NUMBER, "sd": NUMBER})), "residual": by_name(NUMBER)},
    ),
)  # fmt: skip
REPLAY: Final = Event(
    "replay",
    "What a governor made of a trace of idle periods.",
    {
        "trace": TEXT,
        "governor": TEXT,
        "energy_over_clairvoyant": NUMBER,
        "wake_latency_mean_us": NUMBER,
        "wake_latency_p99_us": NUMBER,
        "ns_per_decision": NUMBER,
        "too_deep": NUMBER,
        "too_shallow": NUMBER,
        "decisions": COUNT,
    },
)
RECORDED: Final = Event(
    "recorded",
    "How a kernel's CPUs were idle has been recorded; with --cost, what that took.",
    {
        "out": TEXT,
        "cpus": COUNT,
        "stays": COUNT,
        "lost": COUNT,
        "duration_s": NUMBER,
        "governor": TEXT,
        "driver": TEXT,
        "timers": FLAG,
    },
    {
        "kernel_ns_per_stay": NUMBER,
        "nothing_ns_per_stay": NUMBER,
        "reader_ns_per_stay": NUMBER,
        "core_share_at_100k_per_s": NUMBER,
    },
)
CAPTURED: Final = Event(
    "recorded",
    "A NIC's interrupts have been recorded; unless that was full, what was counted, and with --cost what it took.",
    {
        "out": TEXT,
        "logs": each(TEXT),
        "removed": COUNT,
        "polls": FLAG,
        "records": COUNT,
        "lost": COUNT,
        "full": FLAG,
    },
    {
        "duration_s": NUMBER,
        "rest_rx_packets": COUNT,
        "rest_tx_packets": COUNT,
        "uncounted": COUNT,
        "kernel_ns_per_record": NUMBER,
        "nothing_ns_per_record": NUMBER,
        "reader_ns_per_record": NUMBER,
        "core_share_at_200k_per_s": NUMBER,
    },
)
GOVERNED: Final = Event(
    "limit",
    "How deeply a CPU may sleep from now on, by `state` and its latency, and what is expected of that: its energy as a "
    "share of what it takes unlimited, and latencies of a wake-up.",
    {"cpu": COUNT, "state": TEXT, "max_latency_us": COUNT, "is_limited": FLAG, "energy_share": NUMBER,
     "latency_us": NUMBER, "unlimited_latency_us": NUMBER},
)  # fmt: skip

WATCHED: Final = Event(
    "moment",
    "What a NIC's interrupts were like in an interval; null is what nothing tells.",
    {
        "time_s": NUMBER,
        "delay_us": maybe(NUMBER),
        "lost": COUNT,
        "queues": each(
            record(
                {
                    "queue": TEXT,
                    "cpus": each(COUNT),
                    "interrupts_per_s": NUMBER,
                    "spacing": maybe(
                        record({"p1_us": NUMBER, "p50_us": NUMBER, "p99_us": NUMBER, "kept_share": maybe(NUMBER)})
                    ),
                    "rx_packets": NUMBER,
                    "tx_packets": NUMBER,
                    "irq_share": maybe(NUMBER),
                    "idle_share": maybe(NUMBER),
                }
            )
        ),
    },
)
INTERRUPTS: Final = (
    Event("log", "What one log shows.", {"file": TEXT, "records": COUNT}, more={}),
    Event("all", "What all logs show together.", {"logs": COUNT, "records": COUNT}, more={}),
)
_CARBON_MASSES: Final = (
    "lifetime_years", "grid_g_per_kwh", "embodied_kg", "charged_kg", "embodied_mg_per_request",
    "operational_mg_per_request", "network_mg_per_request", "cci_mg_per_request",
    "cci_without_network_mg_per_request", "ratio", "ratio_without_network",
)  # fmt: skip
_AS_PUBLISHED: Final = ("cci_as_published_mg_per_request", "ratio_as_published")
CARBON: Final = Event(
    "carbon",
    "The carbon of a request on one machine under one operating system; null is what nobody published of it.",
    {
        "app": TEXT,
        "stack": TEXT,
        "reused": FLAG,
        **dict.fromkeys(_CARBON_MASSES, NUMBER),
        **dict.fromkeys(_AS_PUBLISHED, maybe(NUMBER)),
    },
)
_LIBRARY_OS: Final = record({"numbers": QUANTITIES, "verdict": TEXT, "source": TEXT})
CLAIM: Final = Event(
    "claim",
    "One claim of the papers, and what data, twin and library OS say of it.",
    {"id": TEXT, "paper": TEXT, "place": TEXT, "statement": TEXT, "printed": TEXT, "data": QUANTITIES,
     "twin": QUANTITIES, "library_os": maybe(_LIBRARY_OS), "verdict": TEXT, "note": TEXT, "command": TEXT,
     "figure": maybe(TEXT)},
)  # fmt: skip
