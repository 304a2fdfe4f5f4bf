from __future__ import annotations

from bayop.experiments.idle.record import CoreUse, Day, Shown, Step, Window
from bayop.report.idle_tables import core_cells, day_cells, overload_lines
from bayop.slo import Slo


def test_cores_are_told_by_the_first_and_the_last_in_every_state_that_is_used() -> None:
    use = CoreUse(5e3, "yawn", 62.44, {"C1": [0.25, 0.5, 0.0], "C3": [0.001] * 3, "C6": [0.0, 0.25, 0.75]})
    assert core_cells([use]) == [
        ["requests/s", "balancer", "W", "operating, %", "C1, %", "C6, %"],
        ["5K", "yawn", "62.4", "74.9, 24.9", "25.0, 0.0", "0.0, 75.0"],
    ]


def test_what_is_served_has_a_column_where_less_is_served_than_offered() -> None:
    calm = CoreUse(5e3, "none", 60.0, {"C1": [0.5]}, 4.9e3)
    over = CoreUse(2e6, "none", 90.0, {"C1": [0.0]}, 7.604e5, overloaded=True)
    unknown = CoreUse(6e3, "none", 60.0, {"C1": [0.5]})
    assert [row[:3] for row in core_cells([calm, over, unknown])] == [
        ["requests/s", "served", "balancer"],
        ["5K", "4.9K", "none"],
        ["2M", "760.4K", "none"],
        ["6K", "-", "none"],
    ]


def test_a_policy_that_was_overloaded_is_named_with_its_worst_step() -> None:
    short, long = Step(0.0, 900.0, 4e5), Step(900.0, 2700.0, 5e3)
    windows = [
        Window("menu", short, Shown(90.0, 900.0, None, 3e5, overloaded=True), None),
        Window("menu", long, Shown(50.0, 140.0, None, 5e3), None),
        Window("off", short, Shown(90.0, 900.0, None, 4e5), None),
    ]
    assert overload_lines(Day("a server", "a curve", Slo.parse("p99<1s"), windows)) == [
        "Overloaded under menu for 25.0% of the time: 300K of 400K requests/s were served where it was worst."
    ]


def test_a_day_stands_beside_what_was_published_of_it() -> None:
    step = Step(0.0, 3600.0, 5e3)
    windows = [
        Window("menu", step, Shown(50.0, 140.0), Shown(40.0, 210.0)),
        Window("yawn, balancer", step, Shown(45.0, 120.0), Shown(30.0, 130.0)),
        Window("bayop, balancer", step, Shown(40.0, 160.0), None),
    ]
    assert day_cells(Day("a server", "a curve", Slo.parse("p99<150us"), windows)) == [
        ["", "energy, Wh", "against menu", "worst p99, us", "over p99<150us"],
        ["menu", "50.0 (40.0)", "+0.0% (+0.0%)", "140 (210)", "0.0% (100.0%)"],
        ["yawn, balancer", "45.0 (30.0)", "-10.0% (-25.0%)", "120 (130)", "0.0% (0.0%)"],
        ["bayop, balancer", "40.0", "-20.0%", "160", "100.0%"],
    ]
