from __future__ import annotations

from bayop.experiments.idle.record import CoreUse, Day, Shown, Step, Window
from bayop.report.idle_tables import core_cells, day_cells
from bayop.slo import Slo


def test_cores_are_told_by_the_first_and_the_last_in_every_state_that_is_used() -> None:
    use = CoreUse(5e3, "yawn", 62.44, {"C1": [0.25, 0.5, 0.0], "C3": [0.001] * 3, "C6": [0.0, 0.25, 0.75]})
    assert core_cells([use]) == [
        ["requests/s", "balancer", "W", "operating, %", "C1, %", "C6, %"],
        ["5K", "yawn", "62.4", "74.9, 24.9", "25.0, 0.0", "0.0, 75.0"],
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
