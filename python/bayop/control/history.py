"""What a controller remembers of earlier trials, as the prior of its next search."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Final

from bayop.optimize.base import SAME_LOAD, Observation

MOST: Final = 5000
"""So many observations are remembered."""

_MOST_GIVEN: Final = 96
"""So many are given to a search: a Gaussian process slows down with their cube."""


class History:
    """Observations at all loads so far, bounded.

    A setting that is seen again at the same load (within 1 %) replaces its older observation: servers drift, and a
    setting that is held for hours must not drown the others.

    Args:
        known: Observations from before, oldest first.
        on_add: Called with each observation that is added, before it counts.
        most: How many are remembered, the newest.
    """

    def __init__(
        self,
        known: Iterable[Observation] = (),
        on_add: Callable[[Observation], None] = lambda _: None,
        most: int = MOST,
    ) -> None:
        self._on_add = on_add
        self._most = most
        self._observations: list[Observation] = []
        for observation in known:
            self._append(observation)

    def add(self, observation: Observation) -> None:
        """Remembers an observation as the newest."""
        self._on_add(observation)
        self._append(observation)

    @property
    def known(self) -> tuple[Observation, ...]:
        """All observations, oldest first."""
        return tuple(self._observations)

    def _append(self, observation: Observation) -> None:
        self._observations = [o for o in self._observations if not _same(o, observation)]
        self._observations = [*self._observations[1 - self._most :], observation]

    def near(self, qps: float) -> tuple[Observation, ...]:
        """The observations nearest in load, oldest first; of equally near ones the newer are kept."""
        ages = range(len(self._observations))
        nearest = sorted(ages, key=lambda i: (round(abs(math.log(self._observations[i].qps / qps)), 3), -i))
        return tuple(self._observations[i] for i in sorted(nearest[:_MOST_GIVEN]))


def _same(left: Observation, right: Observation) -> bool:
    return left.setting == right.setting and math.isclose(left.qps, right.qps, rel_tol=SAME_LOAD)
