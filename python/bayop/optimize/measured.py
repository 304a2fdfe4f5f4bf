"""The incumbent of optimizers that trust single measurements because they have no model of the noise."""

from __future__ import annotations

from collections.abc import Sequence

from bayop.optimize.base import Observation, Problem
from bayop.space import Setting


def best_measured(observations: Sequence[Observation], problem: Problem) -> Setting | None:
    """The setting with the least measured objective among those that met the SLO, or among all when unconstrained."""
    slo, objective = problem.slo, problem.objective
    candidates = [
        o for o in observations if not objective.constrained or slo.met_by(o.measurement[slo.quantity])
    ]
    return min(candidates, key=lambda o: objective.of(o.measurement)).setting if candidates else None
