"""How services stand, as samples. Base units; what is not known has no sample: a gap is honest."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final, get_args

from bayop.daemon.file import Mode, ServiceFile
from bayop.daemon.metrics.exposition import Family, Sample
from bayop.daemon.report import Cause
from bayop.daemon.standing import Doing, Standing
from bayop.search import Halt
from bayop.space import Setting

_SERVICE: Final = ("service",)
_QUANTILE: Final = ("service", "slo_quantile")
"""Not `quantile`, which is a summary's own."""
_KNOB: Final = ("service", "knob")
MODE: Final = Family("bayop_mode", "gauge", ("service", "mode"), "How far bayop run goes; 1 for what is so")
PHASE: Final = Family("bayop_phase", "gauge", ("service", "phase"), "What a service is about; 1 for what is so")
HALTED: Final = Family(
    "bayop_halted", "gauge", ("service", "why"), "Whether nothing is tried for now: quiet hours, or a spent budget"
)
PAUSED: Final = Family("bayop_paused", "gauge", ("service", "by"), "Whether an operator or the stop file has paused it")
TROUBLE: Final = Family(
    "bayop_trouble", "gauge", ("service", "cause"), "Whether the machine had to be let go of and was not reached since"
)
RESTORED: Final = Family("bayop_restored", "gauge", _SERVICE, "Whether the machine is known to have its own settings")
LIMIT: Final = Family("bayop_slo_limit_seconds", "gauge", _QUANTILE, "The SLO's latency limit at a quantile")
ALLOWED: Final = Family(
    "bayop_error_budget_allowed_ratio",
    "gauge",
    _SERVICE,
    "Share of the requests that may be slower than the limit, by the error budget or else by the SLO's quantile",
)
LEFT: Final = Family("bayop_error_budget_left_ratio", "gauge", _SERVICE, "Share of the error budget that is left")
LATENCY: Final = Family("bayop_window_latency_seconds", "gauge", _QUANTILE, "Latency in the last window")
MARGIN: Final = Family(
    "bayop_slo_margin_ratio",
    "gauge",
    _SERVICE,
    "How far the last window's latency was below the limit, as a share of it; of several limits that of the highest "
    "quantile",
)
POWER: Final = Family("bayop_window_power_watts", "gauge", _SERVICE, "Mean power in the last window")
LOAD: Final = Family("bayop_window_requests_per_second", "gauge", _SERVICE, "Load in the last window")
SETTING_INFO: Final = Family(
    "bayop_setting_info",
    "gauge",
    ("service", "knob", "value"),
    "The setting in effect, 1 for each knob, its value in the unit of the knob's name; none for the default",
)
SETTING_SECONDS: Final = Family("bayop_setting_seconds", "gauge", _KNOB, "Knobs in effect that are times")
SETTING_HERTZ: Final = Family("bayop_setting_hertz", "gauge", _KNOB, "Knobs in effect that are frequencies")
SETTING_WATTS: Final = Family("bayop_setting_watts", "gauge", _KNOB, "Knobs in effect that are powers")
SAVING: Final = Family(
    "bayop_saving_watts", "gauge", _SERVICE, "What a held setting has saved in the last seven days, while it is held"
)
SAVING_LOW: Final = Family("bayop_saving_low_watts", "gauge", _SERVICE, "Lower end of its 95 % confidence interval")
SAVING_HIGH: Final = Family("bayop_saving_high_watts", "gauge", _SERVICE, "Upper end of it")
STOOD: Final = (
    MODE, PHASE, HALTED, PAUSED, TROUBLE, RESTORED, LIMIT, ALLOWED, LEFT, LATENCY, MARGIN, POWER, LOAD, SETTING_INFO,
    SETTING_SECONDS, SETTING_HERTZ, SETTING_WATTS, SAVING, SAVING_LOW, SAVING_HIGH,
)  # fmt: skip

_UNITS: Final[Mapping[str, tuple[Family, float]]] = {
    "_usecs": (SETTING_SECONDS, 1e6),
    "_us": (SETTING_SECONDS, 1e6),
    "_mhz": (SETTING_HERTZ, 1e-6),
    "_w": (SETTING_WATTS, 1.0),
}
"""By how a knob's name ends: its family, and how many of its units the family's are."""


def samples_of(standing: Standing, cause: str | None) -> Iterator[Sample]:
    """How a service stands.

    Args:
        standing: How it does.
        cause: Of its last trouble.
    """
    file, name = standing.file, standing.file.name
    halts = {"quiet": standing.quiet_until_s is not None, "overspent": standing.budget_left == 0.0}
    for mode in get_args(Mode):
        yield MODE.at(mode == file.mode, name, mode)
    for doing in get_args(Doing):
        yield PHASE.at(doing == standing.doing, name, doing)
    for why in get_args(Halt):
        yield HALTED.at(halts[why], name, why)
    for by in ("operator", "stop file"):
        yield PAUSED.at(by in standing.paused_by, name, by)
    for each in get_args(Cause):
        yield TROUBLE.at(standing.trouble is not None and each == cause, name, each)
    yield RESTORED.at(standing.restored, name)
    yield from _terms(file)
    if standing.budget_left is not None:
        yield LEFT.at(standing.budget_left, name)
    yield from _last_window(standing)
    if standing.setting is not None:
        yield from _setting(name, standing.setting)
    if standing.saved is not None and (saving := standing.saved.power_w) is not None:
        ends = {SAVING: saving.value, SAVING_LOW: saving.low, SAVING_HIGH: saving.high}
        yield from (family.at(value, name) for family, value in ends.items() if math.isfinite(value))


def _terms(file: ServiceFile) -> Iterator[Sample]:
    for slo in (file.slo, *file.slo.also):
        yield LIMIT.at(slo.limit_us / 1e6, file.name, f"{slo.quantile:g}")
    allowed = 1 - file.slo.quantile if file.budget is None else file.budget.requests_over
    yield ALLOWED.at(round(allowed, 12), file.name)


def _last_window(standing: Standing) -> Iterator[Sample]:
    last, slo, name = standing.last, standing.file.slo, standing.file.name
    if last is None:
        return
    yield LOAD.at(last.qps, name)
    if last.power_w is not None:
        yield POWER.at(last.power_w, name)
    if last.latency_us is not None:
        yield LATENCY.at(last.latency_us / 1e6, name, f"{slo.quantile:g}")
        yield MARGIN.at(1 - last.latency_us / slo.limit_us, name)


def _setting(service: str, setting: Setting) -> Iterator[Sample]:
    for knob, value in setting.items():
        text = value if isinstance(value, str) else f"{value:g}"
        yield SETTING_INFO.at(1, service, knob, text)
        for ending, (family, scale) in _UNITS.items():
            if knob.partition("@")[0].endswith(ending) and not isinstance(value, str):
                yield family.at(value / scale, service, knob)
