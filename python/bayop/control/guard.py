"""The reflex beside the search: when the SLO is missed, hold a safe setting at once and think later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bayop.errors import InputError
from bayop.optimize.base import Observation
from bayop.slo import Slo
from bayop.space import Setting, Space, fastest_setting

_SAME_LOAD: Final = 0.02


@dataclass(frozen=True, slots=True)
class Guard:
    """Chooses the setting to fall back to.

    Attributes:
        margin: A setting is known to be safe when its latency was below this share of the SLO's limit.
    """

    margin: float = 0.85

    def __post_init__(self) -> None:
        if not 0 < self.margin <= 1:
            raise InputError("a guard's margin must be a share of the SLO's limit, up to 1", value=self.margin)

    def fall_back(
        self, space: Space, slo: Slo, qps: float, setting: Setting | None, observations: Sequence[Observation]
    ) -> Setting | None:
        """The setting to hold instead of `setting`, which has just missed the SLO; None when nothing safer is known.

        The cheapest setting that was seen to be safe at this load or a higher one, and never seen to miss the SLO at
        this load or a lower one; without one, the fastest setting of the space.
        """
        misses = [o.setting for o in observations if o.qps <= qps * (1 + _SAME_LOAD) and not o.meets(slo)]
        if setting is not None:
            misses.append(setting)
        safe = [
            o
            for o in observations
            if o.qps >= qps * (1 - _SAME_LOAD) and o.meets(slo.scaled(self.margin)) and not _among(o.setting, misses)
        ]
        if safe:
            return min(safe, key=lambda o: o.measurement["power_w"]).setting
        fastest = fastest_setting(space)
        return None if setting is not None and dict(setting) == dict(fastest) else fastest


def _among(setting: Setting, settings: Sequence[Setting]) -> bool:
    return any(dict(setting) == dict(other) for other in settings)
