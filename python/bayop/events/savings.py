"""What `bayop run` saves, and what it does to a setting while it holds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bayop.events.shape import COUNT, FLAG, NUMBER, SETTING, TEXT, Event, Shape, maybe, one_of, record

_INTERVAL: Final = record({"value": NUMBER, "low": maybe(NUMBER), "high": maybe(NUMBER)})
"""With the ends of its 95 % confidence interval; null where too few switchbacks say anything of them."""

SAVED: Final[Mapping[str, Shape]] = {
    "held_s": NUMBER, "switchback_s": NUMBER, "switchbacks": COUNT, "default_w": maybe(NUMBER),
    "power_w": maybe(_INTERVAL), "energy_kwh": maybe(_INTERVAL), "cost": maybe(_INTERVAL), "currency": maybe(TEXT),
    "carbon_g": maybe(_INTERVAL),
}  # fmt: skip
SAVING: Final = Event(
    "saving",
    "What a service has saved in a day (UTC), or in all days that are remembered; times in s since 1970. `power_w` is "
    "over the time held and that of the switchbacks, in which the default is in effect and takes `default_w`; a field "
    "is null where no switchback, tariff or grid says it.",
    {"service": TEXT, "of": one_of("day", "all"), "start_s": NUMBER, "end_s": NUMBER, **SAVED},
)
_HELD: Final = {"time": TEXT, "service": TEXT, "setting": SETTING}
HELD: Final = (
    Event(
        "polished",
        "Another setting is held, a notch away: the model has become sure that it is better and safe at a load of "
        "`qps` requests/s; or, with `missed_slo`, the one before is held again.",
        {**_HELD, "instead_of": SETTING, "qps": NUMBER, "missed_slo": FLAG},
    ),
    Event(
        "let-go",
        "The default is back, since what was held saves nothing: so say its switchbacks.",
        {**_HELD, "switchbacks": COUNT, "power_w": _INTERVAL},
    ),
)
