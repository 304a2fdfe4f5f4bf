"""What the trials at one load have shown, setting by setting."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from statistics import fmean

from bayop.optimize.base import SAME_LOAD, Observation, Problem
from bayop.slo import QPS
from bayop.space import Setting, setting_key


class Seen:
    """The observations at a problem's load.

    Args:
        problem: By whose SLO they are judged.
        observations: All observations, of any load.
        falls: Indices of those that lie beyond a cliff.
    """

    def __init__(self, problem: Problem, observations: Sequence[Observation], falls: Collection[int]) -> None:
        self._problem = problem
        indices = [i for i, o in enumerate(observations) if math.isclose(o.qps, problem.qps, rel_tol=SAME_LOAD)]
        self.here = [observations[i] for i in indices]
        self.misses = sum(not o.meets(problem.slo) for o in self.here)
        self._windows = Counter(setting_key(o.setting) for o in self.here)
        fallen = Counter(setting_key(observations[i].setting) for i in indices if i in falls)
        self.fine = _settings(o for o in self.here if o.meets(problem.slo))
        """Settings with a window that met the SLO."""
        self.fallen = _settings(
            observations[i]
            for i in indices
            # One window among several may be a disturbance of its own.
            if i in falls and 2 * fallen[key := setting_key(observations[i].setting)] >= self._windows[key]
        )
        """Settings beyond a cliff."""

    def windows(self, setting: Setting) -> int:
        """How often a setting was measured."""
        return self._windows[setting_key(setting)]

    @property
    def holdable(self) -> list[Setting]:
        """Settings that may be held if the model trusts them: one window met the SLO, and none was cut short.

        The model has no throughput, so that the mean of the windows decides about it.
        """
        cut = {setting_key(o.setting) for o in self.here if o.measurement.censored}
        candidates = self.fine if self._problem.objective.constrained else _settings(self.here)
        return [s for s in candidates if setting_key(s) not in cut and self._keeps_floor(s)]

    def _keeps_floor(self, setting: Setting) -> bool:
        floor, key = self._problem.slo.least_qps, setting_key(setting)
        return floor is None or floor <= fmean(o.measurement[QPS] for o in self.here if setting_key(o.setting) == key)

    @property
    def highest_us(self) -> tuple[float, ...] | None:
        """The highest latency of the windows that met what is aimed at, for each limit; None without a window."""
        aim = self._problem.aim
        met = [o.measurement for o in self.here if o.meets(aim)]
        return tuple(max(m[limit.quantity] for m in met) for limit in aim.limits) if met else None

    @property
    def highest_utilization(self) -> float:
        """Of the windows that met the SLO; 0 where it is not measured."""
        met = (o.measurement.get("utilization") for o in self.here if o.meets(self._problem.slo))
        return max((u for u in met if u is not None), default=0.0)


def _settings(observations: Iterable[Observation]) -> list[Setting]:
    return list({setting_key(o.setting): o.setting for o in observations}.values())
