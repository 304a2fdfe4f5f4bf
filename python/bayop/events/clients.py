"""The events of what sends requests: `load` and `probe`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bayop.events.shape import COUNT, FLAG, NUMBER, QUANTITIES, TEXT, Event, Shape, by_name, each, maybe, record

_CLIENTS: Final[Mapping[str, Shape]] = {
    "offered_qps": maybe(NUMBER), "achieved_qps": NUMBER, "duration_s": NUMBER,
    "latency": each(record({"quantile": NUMBER, "value_us": maybe(NUMBER), "low_us": maybe(NUMBER),
                            "high_us": maybe(NUMBER), "punctual_us": maybe(NUMBER)})),
    "mix": each(record({"name": TEXT, "requests": COUNT, "failed": COUNT,
                        "latency": each(record({"quantile": NUMBER, "value_us": maybe(NUMBER)}))})),
    "mean_us": maybe(NUMBER), "miss_ratio": maybe(NUMBER), "counts": by_name(COUNT),
    "lateness": by_name({"type": ["number", "boolean", "null"]}), "troubles": by_name(COUNT), "problems": each(TEXT),
    "valid": FLAG, "ended_early": FLAG,
}  # fmt: skip
_LOADED: Final[Mapping[str, Shape]] = {"servers": each(TEXT), "protocol": TEXT, **_CLIENTS}
_ALL_CLIENTS: Final = {"all_clients": record(_CLIENTS)}
LOAD: Final = (
    Event("stored", "Records were stored before the load.", {"records": COUNT, "value_bytes": COUNT}),
    Event("result", "What one load showed.", _LOADED, _ALL_CLIENTS),
    Event("step", "What one load of `--scan` or `--search` showed.", {"qps": NUMBER, "windows": COUNT, **_LOADED},
          _ALL_CLIENTS),
    Event("expectation",
          "How a result compares with one `--expect`: what was `measured` of the quantity, null where so many requests "
          "failed, and what it must stay below or reach. After `--scan` for every load, whose `qps` it has.",
          {"qps": maybe(NUMBER), "expectation": TEXT, "quantity": TEXT, "limit": NUMBER, "measured": maybe(NUMBER),
           "is_met": FLAG}),
    Event("highest", "The highest load that meets the SLO; null where none does.",
          {"slo": TEXT, "qps": maybe(NUMBER)}),
)  # fmt: skip
PROBE: Final = Event(
    "window",
    "What the probe's requests saw: the quantiles that enough of them lie beyond, and their relative sds; and `qps`, "
    "the requests/s of all clients, where the server counts them.",
    {"vantage": TEXT, "duration_s": NUMBER, "requests": COUNT, "mean_us": NUMBER, "relative_sd": QUANTITIES},
    more=NUMBER,
)
