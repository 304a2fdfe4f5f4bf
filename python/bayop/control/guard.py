"""The reflex beside the search: when the SLO is missed, hold a safe setting at once and think later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bayop.errors import InputError
from bayop.objective import Objective
from bayop.optimize.base import Observation
from bayop.space import Setting, Space, fastest_setting

_SAFE_WITHIN: Final = 0.02
"""Loads that differ by no more, as a share, say the same of what is safe."""


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
        self, space: Space, objective: Objective, qps: float, setting: Setting | None, known: Sequence[Observation]
    ) -> Setting | None:
        """The setting to hold instead of `setting`, which has just missed the SLO; None when nothing safer is known.

        The one of least objective of those that were seen to be safe at this load or a higher one, and never seen to
        miss the SLO at this load or a lower one; without any, the fastest setting of the space.
        """
        slo = objective.slo
        misses = [o.setting for o in known if o.qps <= qps * (1 + _SAFE_WITHIN) and not o.meets(slo)]
        if setting is not None:
            misses.append(setting)
        safe = [
            o
            for o in known
            if o.qps >= qps * (1 - _SAFE_WITHIN) and o.meets(slo.scaled(self.margin)) and o.setting not in misses
        ]
        if safe:
            return min(safe, key=lambda o: objective.of(o.measurement)).setting
        fastest = fastest_setting(space)
        return None if setting == fastest else fastest
