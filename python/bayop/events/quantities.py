"""Shapes that several verbs share: domains and spaces of knobs, savings."""

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
    Shape,
    by_name,
    each,
    maybe,
    one_of,
    record,
)

_RANGE: Final = record(
    {"low": NUMBER, "high": NUMBER, "step": NUMBER}, {"reserved": each(record({"low": NUMBER, "high": NUMBER}))}
)
_CHOICES: Final = record({"choices": each(VALUE)})
DOMAIN: Final[Shape] = {"anyOf": [_RANGE, _CHOICES]}
_AXIS: Final[Mapping[str, Shape]] = {"unit": TEXT, "auto": FLAG}
_ONLY_WITH: Final = {"only_with": by_name({"anyOf": [record({"low": NUMBER, "high": NUMBER}), _CHOICES]})}
SPACE: Final = by_name(
    {
        "anyOf": [
            record(
                {"low": NUMBER, "high": NUMBER, "step": NUMBER, **_AXIS}, {"reserved": each(QUANTITIES), **_ONLY_WITH}
            ),
            record({"choices": each(VALUE), **_AXIS}, _ONLY_WITH),
        ]
    }
)
_WATTS: Final = {name: maybe(NUMBER) for name in ("power_w", "low_w", "high_w", "default_w")}
_COST: Final = {name: maybe(NUMBER) for name in ("value", "low", "high", "default")}
_LATENCIES: Final[Shape] = {"patternProperties": {r"^p\d+_us$": by_name(maybe(NUMBER))}}
_KNOWN_BY: Final = {"share": NUMBER, "pairs": COUNT, "significant": FLAG}
# In W where power is minimised, else in the objective's own unit.
SAVING: Final[Shape] = {
    **record(
        {**_KNOWN_BY, "verdict": one_of("saves", "meets", "not significant", "breaks", "unknown")},
        {**_WATTS, **_COST, "setting": SETTING},
    ),
    **_LATENCIES,
}
CPU_SAVING: Final = record({**_KNOWN_BY, **_COST})
