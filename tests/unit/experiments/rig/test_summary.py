from __future__ import annotations

from collections.abc import Mapping

import pytest

from bayop.experiments.rig.record import LiveRecord, Point
from bayop.experiments.rig.summary import cpu_saving, shortfall
from bayop.testing.fakes import make_problem, papers_space

PROBLEM = make_problem(papers_space(), slo="p99<200us", qps=5000.0)


def point(power_w: float, cut_short: str | None = None) -> Point:
    return Point({}, {"power_w": power_w, "p99_us": 100.0}, {}, cut_short)


def record(again: Mapping[str, list[Point]] | None = None) -> LiveRecord:
    return LiveRecord(
        machine="a machine", slo="p99<200us", objective="power", qps=5000.0, seed=1, estimated=False, busy_before=None,
        default=point(120.0), again=dict(again or {}), most_pairs=6,
    )  # fmt: skip


def test_the_shortfall_compares_both_winners_as_measured_again() -> None:
    both = {"search": [point(51.0), point(53.0)], "sweep": [point(50.0), point(50.0), point(9.0, "harm")]}
    assert shortfall(record(both), PROBLEM) == pytest.approx(52.0 / 50.0 - 1.0)
    assert shortfall(record({**both, "search": [point(1.0, "harm")]}), PROBLEM) is None
    assert shortfall(record(), PROBLEM) is None


def test_the_saving_of_processor_time_is_per_request() -> None:
    def seen(cpus: float) -> Point:
        return Point({}, {"power_w": 50.0, "p99_us": 100.0, "qps": 5000.0, "service_cpu": cpus}, {}, None)

    again = {"default": [seen(0.5)] * 6, "search": [seen(0.4)] * 6}
    saving = cpu_saving(record(again))
    assert saving is not None
    assert [saving.value, saving.reference] == pytest.approx([20.0, 100.0])
    assert cpu_saving(record()) is None
