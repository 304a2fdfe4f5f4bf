from __future__ import annotations

import pytest

from bayop.control.triggers import parse_trigger
from bayop.load.curve import LoadCurve
from bayop.objective import Objective
from bayop.slo import Slo
from bayop.study.day import DayPlan, play_day
from bayop.study.day_record import DayRecord
from bayop.study.day_sweep import Effort
from bayop.testing.fakes import Shape
from bayop.testing.plants import FakeMachine


@pytest.fixture(scope="session")
def record() -> DayRecord:
    """Two hours of a small server, with every configuration."""
    plan = DayPlan(
        app="memcached",
        objective=Objective.parse("power", Slo.parse("p99<300us")),
        curve=LoadCurve("twitter", (3e5, 5e5)),
        trigger=parse_trigger("clock,breach"),
        trigger_name="clock,breach",
        seed=1,
        requests=1000,
        effort=Effort(1000, 1000, threads=1),
    )
    return play_day(plan, {"linux": FakeMachine(), "ebbrt": FakeMachine(Shape(cycles=20_000))})
