"""Which settings are safe enough for a trial."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bayop.optimize.base import Problem
from bayop.optimize.grey_box.belief import Belief
from bayop.optimize.grey_box.caution import Caution
from bayop.optimize.grey_box.inputs import Inputs, distances
from bayop.optimize.grey_box.seen import Seen
from bayop.slo import Slo
from bayop.space import Setting


class Risk:
    """What may be tried, after what was seen.

    Args:
        problem: What is searched for.
        caution: How much risk is taken.
        seen: What the trials have shown.
        encode: The inputs of settings.
    """

    def __init__(
        self, problem: Problem, caution: Caution, seen: Seen, encode: Callable[[Sequence[Setting]], Inputs]
    ) -> None:
        self._constrained = problem.objective.constrained
        self._aim = problem.aim
        self._small_steps = problem.small_steps
        self._caution = caution
        self._seen = seen
        self._encode = encode

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

    def allowed(self, belief: Belief, at: Inputs, reach: Slo | None = None) -> NDArray[np.bool_]:
        """Which settings are safe enough, and within reach."""
        caution = self._caution
        least = 1.0 - (1.0 - caution.trial) * caution.after_miss**self._seen.misses
        allowed = self.bearable(belief, at)
        if self._constrained:
            allowed &= belief.safe >= least
            highest_us = self._seen.highest_us
            if highest_us is not None:
                near = belief.latency_us <= caution.far * np.array(highest_us)[:, None]
                allowed &= near.all(axis=0) | (belief.safe >= caution.sure)
        if reach is not None:
            allowed &= belief.meets(reach) >= caution.step
        return allowed

    def ventured(self, belief: Belief, at: Inputs) -> NDArray[np.bool_]:
        """Which settings may be tried for a great promise."""
        return np.asarray(self.bearable(belief, at) & (belief.safe >= self._caution.venture))

    def bearable(self, belief: Belief, at: Inputs) -> NDArray[np.bool_]:
        """Which settings neither overload the cores nor lie near a cliff, as far as is known."""
        return np.asarray(self._stable(belief) & self._clear(at))

    def _stable(self, belief: Belief) -> NDArray[np.bool_]:
        """What is surely below the gate, or expected to load the cores no more than what has met the SLO."""
        known = belief.utilization <= self._seen.highest_utilization
        return np.asarray((belief.stable >= self._caution.overload) | known)

    def _clear(self, at: Inputs) -> NDArray[np.bool_]:
        """What is much nearer to a setting that met the SLO than to one that fell."""
        if not (self._seen.fallen and self._seen.fine):
            return np.ones(len(at), dtype=np.bool_)
        to_fine = distances(at, self._encode(self._seen.fine)).min(axis=1)
        to_fallen = distances(at, self._encode(self._seen.fallen)).min(axis=1)
        return np.asarray(to_fallen >= self._caution.clearance * to_fine)
