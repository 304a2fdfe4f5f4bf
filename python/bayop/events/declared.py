"""The events of every verb."""

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
    one_of,
    record,
)

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

_INTERVAL: Final = record({"value": maybe(NUMBER), "low": maybe(NUMBER), "high": maybe(NUMBER)})
_RANGE: Final = record(
    {"low": NUMBER, "high": NUMBER, "step": NUMBER}, {"reserved": each(record({"low": NUMBER, "high": NUMBER}))}
)
_DOMAIN: Final[Shape] = {"anyOf": [_RANGE, record({"choices": each(VALUE)})]}
_AXIS: Final[Mapping[str, Shape]] = {"unit": TEXT, "auto": FLAG}
_SPACE: Final = by_name(
    {
        "anyOf": [
            record({"low": NUMBER, "high": NUMBER, "step": NUMBER, **_AXIS}, {"reserved": each(QUANTITIES)}),
            record({"choices": each(VALUE), **_AXIS}),
        ]
    }
)
_WINDOW: Final[Shape] = {"type": "object", "additionalProperties": maybe({"type": ["number", "string"]})}
_WATTS: Final = {name: maybe(NUMBER) for name in ("power_w", "low_w", "high_w", "default_w")}
_COST: Final = {name: maybe(NUMBER) for name in ("value", "low", "high", "default")}
_LATENCIES: Final[Shape] = {"patternProperties": {r"^p\d+_us$": by_name(maybe(NUMBER))}}
_KNOWN_BY: Final = {"share": NUMBER, "pairs": COUNT, "significant": FLAG}
# In W where power is minimised, else in the objective's own unit.
_SAVING: Final[Shape] = {
    **record(
        {**_KNOWN_BY, "verdict": one_of("saves", "meets", "not significant", "breaks", "unknown")},
        {**_WATTS, **_COST, "setting": SETTING},
    ),
    **_LATENCIES,
}
_CPU_SAVING: Final = record({**_KNOWN_BY, **_COST})
_TENURE: Final = {"holder": TEXT, "age_s": NUMBER}
_WORK: Final[Mapping[str, Shape]] = {
    "target": TEXT, "app": TEXT, "machine": TEXT, "os": TEXT, "vantage": TEXT, "qps_offered": NUMBER,
    "message_bytes": NUMBER,
}  # fmt: skip

_TUNE: Final = (
    Event(
        "start",
        "The search begins; `estimated` lists quantities that a model stands in for, `warnings` what makes the numbers "
        "doubtful.",
        {"target": TEXT, "description": TEXT, "estimated": each(TEXT), "space": _SPACE, "slo": TEXT, "objective": TEXT,
         "headroom": NUMBER, "small_steps": FLAG, "seed": COUNT, "warnings": each(TEXT)},
    ),
    Event(
        "trial",
        "A setting was applied and measured. `incumbent` is what would be held now; null while no trial is trusted.",
        {"trial": COUNT, "setting": SETTING, "measured": QUANTITIES, "meets_slo": FLAG, "cut_short": maybe(TEXT),
         "incumbent": maybe(SETTING), "chosen_in_s": NUMBER},
    ),
    Event(
        "pair",
        "The default and the result were measured again, one after the other.",
        {"pair": COUNT},
        more=_WINDOW,
    ),
    Event(
        "result",
        "The end. `setting` is null where none is trusted to meet the SLO, or none is worth keeping; `held` says "
        "whether it stays applied, and `undo` which command takes it back.",
        {"setting": maybe(SETTING), "held": FLAG, "trials": COUNT,
         "stopped": one_of("converged", "infeasible", "exhausted", "budget", "interrupted"),
         "predicted": maybe(QUANTITIES), "default": maybe(QUANTITIES), "saving": maybe(_SAVING),
         "warnings": each(TEXT), "undo": maybe(TEXT)},
    ),
    Event(
        "dry-run",
        "With `--dry-run`, the only event: what the first trial would change.",
        {"setting": SETTING,
         "changes": each(record({"knob": TEXT, "before": maybe(VALUE), "requested": VALUE})), "space": _SPACE},
    ),
)  # fmt: skip

_POINT: Final[Mapping[str, Shape]] = {
    "setting": SETTING, "measured": QUANTITIES, "service_cpu": maybe(NUMBER), "cut_short": maybe(TEXT),
}  # fmt: skip
_LIVE: Final = (
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
        {"saving": maybe(_SAVING), "cpu_saving": maybe(_CPU_SAVING),
         "found": maybe(SETTING), "best_of_sweep": maybe(SETTING), "trials": COUNT, "shortfall": maybe(NUMBER),
         "stopped": maybe(TEXT), "report": TEXT},
    ),
)  # fmt: skip

_CLIENTS: Final[Mapping[str, Shape]] = {
    "offered_qps": maybe(NUMBER), "achieved_qps": NUMBER, "duration_s": NUMBER,
    "latency": each(record({"quantile": NUMBER, "value_us": maybe(NUMBER), "low_us": maybe(NUMBER),
                            "high_us": maybe(NUMBER), "punctual_us": maybe(NUMBER)})),
    "mean_us": maybe(NUMBER), "miss_ratio": maybe(NUMBER), "counts": by_name(COUNT),
    "lateness": by_name({"type": ["number", "boolean", "null"]}), "troubles": by_name(COUNT), "problems": each(TEXT),
    "valid": FLAG, "ended_early": FLAG,
}  # fmt: skip
_LOADED: Final[Mapping[str, Shape]] = {"servers": each(TEXT), "protocol": TEXT, **_CLIENTS}
_ALL_CLIENTS: Final = {"all_clients": record(_CLIENTS)}
_LOAD: Final = (
    Event("stored", "Records were stored before the load.", {"records": COUNT, "value_bytes": COUNT}),
    Event("result", "What one load showed.", _LOADED, _ALL_CLIENTS),
    Event("step", "What one load of `--scan` or `--search` showed.", {"qps": NUMBER, "windows": COUNT, **_LOADED},
          _ALL_CLIENTS),
    Event("highest", "The highest load that meets the SLO; null where none does.",
          {"slo": TEXT, "qps": maybe(NUMBER)}),
)  # fmt: skip

_WRITE: Final = record({"asked": VALUE, "effective": maybe(VALUE), "duration_ms": NUMBER, "error": maybe(TEXT)})
_DOCTOR: Final = (
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
_FILES: Final = Event(
    "written",
    "Both files are written, from what was found; `meter` is null where power would be an estimate.",
    {"files": each(TEXT), "nic": maybe(TEXT), "meter": maybe(TEXT),
     "services": each(record({"name": TEXT, "port": COUNT}))},
)  # fmt: skip
_STATUS: Final = Event(
    "status",
    "What an agent holds.",
    {
        "agent": TEXT, "version": TEXT, "mode": TEXT, "lease": maybe(record({**_TENURE, "ends_in_s": maybe(NUMBER)})),
        "kept": FLAG, "applied_by": maybe(record(_TENURE)),
        "held": each(record({"knob": TEXT, "state": one_of("held", "stood_down", "latched"), "found": maybe(VALUE),
                             "requested": maybe(VALUE), "effective": maybe(VALUE), "reason": maybe(TEXT)})),
        "damage": maybe(TEXT),
    },
)  # fmt: skip
_RESTORED: Final = Event(
    "restored",
    "What was put back, what was left because somebody else had changed it, and what the kernel refused.",
    {"restored": each(TEXT), "stood_down": each(TEXT), "latched": by_name(TEXT), "lease_ended": maybe(TEXT)},
)
_KNOBS: Final = (
    Event(
        "knob",
        "One knob of the catalogue.",
        {"id": TEXT, "summary": TEXT, "unit": maybe(TEXT), "place": TEXT, "domain": TEXT, "read": TEXT, "write": TEXT,
         "undo": TEXT, "safest": one_of("low", "high", None), "opt_in": FLAG, "hazards": each(TEXT), "source": TEXT},
    ),
    Event(
        "place",
        "With `--agent`: one knob in one place of a machine.",
        {"knob": TEXT, "at": TEXT, "domain": _DOMAIN, "allowed": maybe(_DOMAIN), "effective": maybe(VALUE),
         "error": maybe(TEXT)},
    ),
    Event("missing", "With `--agent`: a knob that the machine does not have, and why.", {"knob": TEXT, "why": TEXT}),
)  # fmt: skip
_PROBE: Final = Event(
    "window",
    "What the probe's requests saw: the quantiles that enough of them lie beyond, and their relative sds.",
    {"vantage": TEXT, "duration_s": NUMBER, "requests": COUNT, "mean_us": NUMBER, "relative_sd": QUANTITIES},
    more=NUMBER,
)

_TWIN_RUN: Final = Event(
    "window",
    "What the twin says of one setting.",
    {"setting": SETTING, "measured": QUANTITIES},
    {"qps_offered": NUMBER, "message_bytes": NUMBER, "meets_slo": FLAG},
)
_ERRORS: Final[Mapping[str, Shape]] = {
    "app": TEXT, "os": TEXT, "load": NUMBER, "cells": COUNT, "mape_pct": by_name(maybe(NUMBER)),
    "mape_all_cells_pct": by_name(maybe(NUMBER)),
}  # fmt: skip
_DEFAULT: Final = {"default_error_pct": by_name(maybe(NUMBER))}
_TWIN_FIT: Final = (
    Event(
        "fit",
        "Which numbers of the profile were fitted.",
        {"profile": TEXT, "parameters": by_name(record({"before": NUMBER, "after": NUMBER})), "out": TEXT},
    ),
    *(
        Event(when, f"The twin's errors {when} the fit at one load, in per cent.", {**_ERRORS, "fitted": FLAG},
              _DEFAULT)
        for when in ("before", "after")
    ),
)  # fmt: skip
_OUTCOME: Final = Event(
    "outcome",
    "How one search ended.",
    {
        "service": TEXT, "machine": TEXT, "slo": TEXT, "peak_qps": NUMBER, "load_share": NUMBER, "qps": NUMBER,
        "seed": COUNT, "trial_s": NUMBER, "trials": COUNT, "stopped": TEXT, "setting": maybe(SETTING),
        "default_power_w": NUMBER, "default_latency_us": NUMBER, "default_utilization": NUMBER, "power_w": NUMBER,
        "latency_us": NUMBER, "utilization": NUMBER, "saving": NUMBER, "saving_ci": NUMBER, "meets_slo": FLAG,
    },
)  # fmt: skip

_SWEEP: Final = (
    Event(
        "start",
        "The sweep begins, or goes on: `done` of its trials were measured before.",
        {"study": TEXT, "target": TEXT, "description": TEXT, "space": _SPACE, "cells": COUNT,
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
_WRITTEN: Final = Event("written", "The study is written.", {"path": TEXT, "trials": COUNT, "columns": COUNT})
_STUDY_SHOW: Final = (
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
_COLUMN: Final = Event(
    "column",
    "One column that a study may have.",
    {"column": TEXT, "kind": TEXT, "unit": TEXT, "meaning": TEXT, "required": FLAG, "measured": FLAG},
)
_SAVED: Final[Mapping[str, Shape]] = {
    "under": TEXT, "against": by_name(VALUE), "setting": SETTING, "savings": by_name(_INTERVAL),
}  # fmt: skip
_REPORT: Final = (
    Event(
        "start",
        "The studies were read.",
        {"studies": each(TEXT), "trials": COUNT, "left_out": by_name(COUNT), "slo": TEXT, "seed": COUNT},
    ),
    Event("front", "A setting and how surely it lies on the front, with means and their standard errors (`se.`).",
          {"setting": SETTING, "repeats": COUNT, "on_front": maybe(NUMBER)}, _WORK, more=maybe(NUMBER)),
    Event("best", "The setting that meets the SLO for the least power, and how surely.",
          {"under": TEXT, "setting": SETTING, "repeats": COUNT, "meets": maybe(NUMBER), "rivals": COUNT}, _WORK,
          more=maybe(NUMBER)),
    Event("saving", "What a setting saves against the default, as shares with 95 % intervals.", _SAVED, _WORK),
    Event("knobs", "The same of knobs that were tuned alone.", {"tuned": TEXT, **_SAVED}, _WORK),
    Event("result", "The page is written.", {"report": TEXT}),
)  # fmt: skip
_FIT: Final = (
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
)  # fmt: skip
_INTERRUPTS: Final = (
    Event("log", "What one log shows.", {"file": TEXT, "records": COUNT}, more={}),
    Event("all", "What all logs show together.", {"logs": COUNT, "records": COUNT}, more={}),
)
_CARBON_MASSES: Final = (
    "lifetime_years", "grid_g_per_kwh", "embodied_kg", "charged_kg", "embodied_mg_per_request",
    "operational_mg_per_request", "network_mg_per_request", "cci_mg_per_request",
    "cci_without_network_mg_per_request", "ratio", "ratio_without_network", "cci_as_published_mg_per_request",
    "ratio_as_published",
)  # fmt: skip
_CARBON: Final = Event(
    "carbon",
    "The carbon of a request on one machine under one operating system.",
    {"app": TEXT, "stack": TEXT, "reused": FLAG, **dict.fromkeys(_CARBON_MASSES, NUMBER)},
)
_CLAIM: Final = Event(
    "claim",
    "One claim of the papers, and what data and twin say of it.",
    {"id": TEXT, "paper": TEXT, "place": TEXT, "statement": TEXT, "printed": TEXT, "data": QUANTITIES,
     "twin": QUANTITIES, "verdict": TEXT, "note": TEXT, "command": TEXT, "figure": maybe(TEXT)},
)  # fmt: skip
_DEMO: Final = (
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

EVENTS: Final[Mapping[str, tuple[Event, ...]]] = {
    "demo": _DEMO,
    "tune": _TUNE,
    "doctor": _DOCTOR,
    "init": (_FILES,),
    "status": (_STATUS,),
    "restore": (_RESTORED,),
    "knobs": _KNOBS,
    "live": _LIVE,
    "load": _LOAD,
    "probe": (_PROBE,),
    "twin run": (_TWIN_RUN,),
    "twin validate": (Event("errors", "The twin's errors at one load, in per cent.", _ERRORS, _DEFAULT),),
    "twin fit": _TWIN_FIT,
    "twin crossvalidate": (
        Event(
            "errors",
            "The twin's errors at a load that it was not fitted on.",
            {**_ERRORS, "fitted_on": each(NUMBER)},
            _DEFAULT,
        ),
    ),
    "twin generality": (_OUTCOME,),
    "sweep": _SWEEP,
    "study show": _STUDY_SHOW,
    "study merge": (_WRITTEN,),
    "study export": (_WRITTEN,),
    "study import": (_WRITTEN,),
    "study columns": (_COLUMN,),
    "report": _REPORT,
    "fit": _FIT,
    "interrupts show": _INTERRUPTS,
    "interrupts convert": (
        Event("written", "The log is written.", {"file": TEXT, "out": TEXT, "records": COUNT, "bytes": COUNT}),
    ),
    "carbon": (_CARBON,),
    "claims": (_CLAIM,),
    "config": (
        Event(
            "default", "A flag's default of the user's.", {"verb": TEXT, "flag": TEXT, "value": TEXT, "source": TEXT}
        ),
    ),
}
"""The events of every verb, in the order in which it prints them; `ERROR` may end any of them."""
