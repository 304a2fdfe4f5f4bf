"""Polish of what is held: which windows teach, when a notch is taken, and that it ends."""

from __future__ import annotations

from dataclasses import replace

from bench.switchback.controlled import QPS, SETTING, SLO, SPACE, Fixed
from tests.unit.control.test_controller import Run, policy
from tests.unit.state.test_store import WINDOW

from bayop.control.polishing import Polishing
from bayop.control.triggers import LoadChange
from bayop.measurement import Measurement
from bayop.objective import Objective
from bayop.optimize import make_optimizer
from bayop.optimize.base import Problem
from bayop.search import SearchSteps
from bayop.space import Setting
from bayop.testing.plants import FakePlant

OTHER: Setting = {"power.cap_w": 85}
SHOWN = Measurement({"power_w": 90.0, "p99_us": 178.0})
HELD = replace(WINDOW, setting=SETTING, qps=QPS)


def polishing(*moves: Setting, windows: int = 10) -> tuple[Polishing, Fixed]:
    """After a search with one trial."""
    optimizer = Fixed(moves)
    problem = Problem(SPACE, SLO, Objective.parse("power", SLO), QPS)
    steps = SearchSteps(problem, optimizer, max_trials=3, timer=lambda: 0.0)
    assert steps.ask() is not None
    steps.tell(SETTING, SHOWN)
    return Polishing(steps, QPS, windows), optimizer


def test_a_window_teaches_and_a_notch_may_follow_it() -> None:
    polish, optimizer = polishing(OTHER)
    assert polish.move(SETTING) is None, "nothing was seen yet"
    polish.see(HELD, SHOWN)
    assert polish.move(SETTING) == OTHER
    assert [o.asked for o in optimizer.told] == [SETTING, None], "what is held was not asked for again"


def test_windows_at_another_load_teach_and_move_nothing() -> None:
    polish, optimizer = polishing(OTHER)
    polish.see(replace(HELD, qps=1.05 * QPS), SHOWN)
    assert polish.move(SETTING) is None
    assert len(optimizer.told) == 1


def test_it_ends_after_so_many_windows() -> None:
    polish, optimizer = polishing(SETTING, SETTING, OTHER, windows=2)
    for _ in range(3):
        polish.see(HELD, SHOWN)
        assert polish.move(SETTING) is None
    assert len(optimizer.told) == 3


def test_what_rounding_brings_back_is_not_asked_for_again() -> None:
    polish, _ = polishing(OTHER)
    for expected in (OTHER, None):
        polish.see(HELD, SHOWN)
        assert polish.move(SETTING) == expected


def test_it_goes_back_only_from_a_notch_that_is_new() -> None:
    polish, _ = polishing(OTHER)
    polish.see(HELD, SHOWN)
    assert polish.back() is None
    polish.see(HELD, SHOWN)
    assert polish.move(SETTING) == OTHER
    polish.see(replace(HELD, setting=OTHER, meets_slo=False), SHOWN)
    assert polish.back() == SETTING
    assert polish.back() is None


def test_the_search_of_its_own_polishes_without_harm() -> None:
    runs = [
        Run(
            FakePlant(lambda _: 4e5),
            replace(policy(LoadChange()), polish=polish),
            lambda problem, number: make_optimizer("grey-box", problem, seed=number),
            0.0,
            600.0,
        )
        for polish in (0, 5)
    ]
    plain, polished = (run.windows[-1].power_w for run in runs)
    assert plain is not None
    assert polished is not None
    assert polished <= plain
    assert all(window.meets_slo for window in runs[1].windows if window.phase == "hold")
