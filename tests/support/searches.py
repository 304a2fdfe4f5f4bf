"""What a search of the fake server should have found."""

from __future__ import annotations

from bayop.optimize.base import Problem
from bayop.testing.fakes import FakeServer


def best_power_w(server: FakeServer, problem: Problem) -> float:
    """The least power of a setting that meets the SLO."""
    truths = [server.truth(s) for s in problem.space.settings()]
    return min(t["power_w"] for t in truths if problem.slo.met_by(t))
