"""Which settings are safe enough for a trial."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bayop.optimize.base import Problem
from bayop.optimize.grey_box.belief import Belief
from bayop.optimize.grey_box.caution import Caution
from bayop.optimize.grey_box.seen import Seen
from bayop.slo import Slo

# An unknown knob is expected to change nothing: the demand is that of what met the SLO, but for the arithmetic.
_NO_MORE: Final = 1e-9


class Risk:
    """What may be tried, after what was seen.

    Args:
        problem: What is searched for.
        caution: How much risk is taken.
        seen: What the trials have shown.
    """

    def __init__(self, problem: Problem, caution: Caution, seen: Seen) -> None:
        self._constrained = problem.objective.constrained
        self._aim = problem.aim
        self._small_steps = problem.small_steps
        self._caution = caution
        self._seen = seen

    @property
    def stable_utilization(self) -> float:
        """Up to which utilization the cores of this service are believed to keep up.

        Whether utilization foretells the cliff belongs to the service: one queue for all cores is stable to nearly 1,
        an uneven load over many queues is not. Where the SLO was met near the gate, the gate moves on.
        """
        caution, highest = self._caution, self._seen.highest_utilization
        reached = highest + caution.overload_step * (1.0 - highest)
        return min(max(caution.overload_from, reached), caution.overload_at_most)

    @property
    def reach(self) -> Slo | None:
        """How far the next trial may go, in latency, on a problem with small steps; None for as far as it is safe."""
        highest_us = self._seen.highest_us
        if not self._small_steps or highest_us is None or len(self._seen.here) > self._caution.small_steps:
            return None
        return self._aim.with_limits(
            (us + limit.limit_us) / 2.0 for us, limit in zip(highest_us, self._aim.limits, strict=True)
        )

    def allowed(self, belief: Belief, reach: Slo | None = None) -> NDArray[np.bool_]:
        """Which settings are safe enough, and within reach."""
        caution = self._caution
        least = 1.0 - (1.0 - caution.trial) * caution.after_miss**self._seen.misses
        allowed = self.bearable(belief)
        if self._constrained:
            allowed &= belief.safe >= least
            highest_us = self._seen.highest_us
            if highest_us is not None:
                near = belief.latency_us <= caution.far * np.array(highest_us)[:, None]
                allowed &= near.all(axis=0) | (belief.safe >= caution.sure)
        if reach is not None:
            allowed &= belief.meets(reach) >= caution.step
        return allowed

    def hidden(self, belief: Belief) -> NDArray[np.bool_]:
        """Which settings would be safe enough if they surely did not lie beyond a cliff, as they well may."""
        return self.allowed(replace(belief, clear=np.ones_like(belief.clear))) & (belief.clear < self._caution.clear)

    def ventured(self, belief: Belief) -> NDArray[np.bool_]:
        """Which settings may be tried for a great promise.

        Their cores surely keep up, or are loaded little more than where the SLO was met.
        """
        caution = self._caution
        stable = (belief.stable >= caution.overload) | (belief.demand <= caution.demand_step)
        stable &= (belief.stable >= caution.venture_stable) & (belief.clear >= caution.clear)
        return np.asarray(stable & (belief.safe >= caution.venture))

    def bearable(self, belief: Belief) -> NDArray[np.bool_]:
        """Which settings neither overload the cores nor lie beyond a cliff, as far as is known.

        Cores keep up where they are surely below the gate, or loaded no more than where the SLO was met.
        """
        stable = (belief.stable >= self._caution.overload) | (belief.demand <= 1.0 + _NO_MORE)
        return np.asarray(stable & (belief.clear >= self._caution.clear))
