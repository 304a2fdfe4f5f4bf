from __future__ import annotations

import pytest

from bayop.control.triggers import parse_trigger
from bayop.experiments.day.play import DayPlan
from bayop.experiments.day.sweep import Effort
from bayop.load.curve import LoadCurve
from bayop.objective import Objective
from bayop.slo import Slo


@pytest.fixture(scope="session")
def plan() -> DayPlan:
    """Three hours of a small server."""
    return DayPlan(
        app="memcached",
        objective=Objective.parse("power", Slo.parse("p99<300us")),
        curve=LoadCurve("steps", (3e5, 5e5, 5e5)),
        trigger=parse_trigger("clock,breach"),
        trigger_name="clock,breach",
        seed=1,
        requests=1000,
        effort=Effort(1000, 1000, threads=2),
    )
