from __future__ import annotations

import pytest

from bayop.experiments.idle.record import CoreUse, Day, Shown, Step, Total, Window, is_overloaded
from bayop.slo import Slo

SLO = Slo.parse("p99<200us")
SHORT, LONG = Step(0.0, 60.0, 5e3, {"menu": Shown(50.0, 300.0)}), Step(60.0, 180.0, 7e3)


def test_what_the_idle_states_of_a_core_leave_it_operates() -> None:
    use = CoreUse(5e3, "none", 60.0, {"C1": [0.25, 0.0], "C6": [0.25, 1.0]})
    assert use.operating == [0.5, 0.0]


def test_a_day_s_energy_and_time_over_the_slo_go_by_how_long_its_steps_are() -> None:
    total = Total.of([(SHORT, Shown(100.0, 250.0)), (LONG, Shown(20.0, 100.0))], SLO)
    assert total == Total(energy_j=9_600.0, power_w=40.0, worst_us=250.0, cut_short=False, over_share=0.25)


def test_a_step_that_was_cut_short_is_over_the_slo() -> None:
    """Its few requests were answered soon, and then came more than the server could answer."""
    total = Total.of([(SHORT, Shown(100.0, 50.0, "the load overtook the server")), (LONG, Shown(20.0, 100.0))], SLO)
    assert (total.cut_short, total.over_share) == (True, 0.25)


def test_a_step_in_which_requests_were_lost_is_over_the_slo() -> None:
    shown = Shown(100.0, 50.0, None, 3e3, overloaded=True)
    total = Total.of([(SHORT, shown), (LONG, Shown(20.0, 100.0, None, 7e3))], SLO)
    assert (total.over_share, total.overloaded_share) == (0.25, 0.25)


@pytest.mark.parametrize(
    ("served", "duration_s", "expected"),
    [(1.0, 1.0, False), (0.96, 10.0, False), (0.94, 10.0, True), (0.92, 0.3, False), (0.7, 0.3, True)],
)
def test_few_requests_that_are_missing_may_be_chance(served: float, duration_s: float, *, expected: bool) -> None:
    assert is_overloaded(1e3, served * 1e3, duration_s) is expected


def test_only_what_was_published_counts_as_published() -> None:
    published = SHORT.published["menu"]
    windows = [
        Window("menu", SHORT, Shown(60.0, 100.0), published),
        Window("bayop", SHORT, Shown(55.0, 100.0), None),
        Window("menu", LONG, Shown(70.0, 100.0), None),
        Window("bayop", LONG, Shown(65.0, 100.0), None),
    ]
    day = Day("a server", "a curve", SLO, windows)
    assert (day.policies, day.duration_s) == (["menu", "bayop"], 240.0)
    assert day.simulated("bayop").power_w == pytest.approx(62.5)
    assert day.published("menu") == Total(3_000.0, 50.0, 300.0, cut_short=False, over_share=1.0)
    assert day.published("bayop") is None
