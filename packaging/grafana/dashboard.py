"""The Grafana dashboard of `bayop run`: `python packaging/grafana/dashboard.py > packaging/grafana/bayop.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

_MINE: Final = '{job=~"$job", service=~"$service"}'
_WIDTH, _HEIGHT = 12, 8


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel: its title, the unit of its axis in Grafana's words, and for each query what its series are called."""

    title: str
    unit: str
    queries: dict[str, str]
    kind: str = "timeseries"


PANELS: Final = (
    Panel("Phase", "none", {f"bayop_phase{_MINE} == 1": "{{service}}: {{phase}}"}, "state-timeline"),
    Panel("Trouble, pause, halt", "none", {
        f"bayop_trouble{_MINE}": "{{service}}: trouble, {{cause}}",
        f"bayop_paused{_MINE}": "{{service}}: paused by {{by}}",
        f"bayop_halted{_MINE}": "{{service}}: {{why}}",
    }, "state-timeline"),
    Panel("Power", "watt", {f"bayop_window_power_watts{_MINE}": "{{service}}"}),
    Panel("Latency and its limit", "s", {
        f"bayop_window_latency_seconds{_MINE}": "{{service}}: at {{slo_quantile}}",
        f"bayop_slo_limit_seconds{_MINE}": "{{service}}: limit at {{slo_quantile}}",
    }),
    Panel("Margin to the SLO", "percentunit", {f"bayop_slo_margin_ratio{_MINE}": "{{service}}"}),
    Panel("Load", "reqps", {f"bayop_window_requests_per_second{_MINE}": "{{service}}"}),
    Panel("Error budget left", "percentunit", {f"bayop_error_budget_left_ratio{_MINE}": "{{service}}"}),
    Panel("Budget burn (1 is allowed)", "none", {
        f"sum without (phase) (rate(bayop_requests_over_slo_total{_MINE}[$__rate_interval]))"
        f" / sum without (phase) (rate(bayop_requests_total{_MINE}[$__rate_interval]))"
        f" / bayop_error_budget_allowed_ratio{_MINE}": "{{service}}",
    }),
    Panel("Knobs that are times", "s", {f"bayop_setting_seconds{_MINE}": "{{service}}: {{knob}}"}),
    Panel("Knobs that are frequencies or powers", "none", {
        '{__name__=~"bayop_setting_(hertz|watts)", job=~"$job", service=~"$service"}':
            "{{service}}: {{knob}} ({{__name__}})",
    }),
    Panel("Windows over the SLO", "short", {
        f"sum without (phase) (increase(bayop_windows_over_slo_total{_MINE}[$__rate_interval]))": "{{service}}",
    }),
    Panel("Trials and searches", "short", {
        'bayop_windows_total{job=~"$job", service=~"$service", phase="trial"}': "{{service}}: trials",
        f"bayop_searches_total{_MINE}": "{{service}}: searches",
    }),
    Panel("Fall-backs and troubles", "short", {
        f"increase(bayop_fallbacks_total{_MINE}[$__rate_interval])": "{{service}}: fell back, {{reason}}",
        f"increase(bayop_troubles_total{_MINE}[$__rate_interval])": "{{service}}: let go, {{cause}}",
    }),
    Panel("Age of the last window", "s", {f"time() - bayop_window_end_timestamp_seconds{_MINE}": "{{service}}"}),
    Panel("Power that the agents measure", "watt", {
        "rate(bayop_energy_joules_total[$__rate_interval])": "{{instance}}: {{zone}}",
    }),
    Panel("Holds of the agents", "none", {"bayop_hold": "{{instance}}: {{state}}"}, "state-timeline"),
    Panel("Knobs that the agents hold", "short", {
        "bayop_knobs_held": "{{instance}}: {{state}}",
        "increase(bayop_knob_drift_total[$__rate_interval])": "{{instance}}: {{knob}} changed by somebody else",
        'increase(bayop_fallbacks_total{service=""}[$__rate_interval])': "{{instance}}: fell back, {{reason}}",
        "bayop_journal_damaged": "{{instance}}: journal damaged",
    }),
    Panel("What BayOp itself takes (cores)", "none", {
        "rate(process_cpu_seconds_total[$__rate_interval]) and on (instance, job) bayop_build_info":
            "{{job}} {{instance}}",
    }),
)  # fmt: skip


def dashboard() -> dict[str, Any]:
    """As Grafana imports it, version 9 or newer."""
    return {
        "uid": "bayop",
        "title": "BayOp",
        "schemaVersion": 37,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "utc",
        "templating": {"list": [_source(), _variable("job"), _variable("service")]},
        "panels": [_panel(number, panel) for number, panel in enumerate(PANELS)],
    }


def _source() -> dict[str, Any]:
    return {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _variable(label: str) -> dict[str, Any]:
    return {
        "name": label,
        "type": "query",
        "datasource": {"type": "prometheus", "uid": "${source}"},
        "query": f"label_values(bayop_phase, {label})",
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".+",  # without the agents' series, which have no service
        "current": {"text": "All", "value": "$__all"},
    }


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    source = {"type": "prometheus", "uid": "${source}"}
    return {
        "id": number + 1,
        "title": panel.title,
        "type": panel.kind,
        "datasource": source,
        "gridPos": {"x": number % 2 * _WIDTH, "y": number // 2 * _HEIGHT, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + index), "datasource": source, "expr": query, "legendFormat": legend}
            for index, (query, legend) in enumerate(panel.queries.items())
        ],
    }


if __name__ == "__main__":
    print(json.dumps(dashboard(), indent=1))
