"""What is held follows the load by the model, and steps back where a window has missed the SLO."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from tests.unit.control.test_controller import FAST, GOOD, SLO, Run, Scripted, policy
from tests.unit.state.test_store import WINDOW

from bayop.control.following import Following
from bayop.control.guard import Guard
from bayop.control.triggers import AnyOf, Breach, LoadChange
from bayop.objective import Objective
from bayop.optimize import make_optimizer
from bayop.optimize.base import Optimizer, Problem
from bayop.space import FREQ_MHZ, RX_USECS, Setting
from bayop.testing.fakes import papers_space
from bayop.testing.plants import CuttingPlant, FakePlant

OTHER: Setting = {RX_USECS: 80, FREQ_MHZ: 2000}
QPS = 4e5


@dataclass
class Model(Scripted):
    """Says that another setting is right, and is never sure where it has none."""

    other: Setting | None = None

    def follow(self, held: Setting) -> Setting | None:
        assert held
        return self.other


def model(other: Setting | None) -> Callable[[Problem, int], Optimizer]:
    return lambda problem, _: Model(problem, (FAST, GOOD), other=other)


def play(
    load: Callable[[float], float],
    other: Setting | None,
    *,
    disturb: Callable[[float], float] = lambda _: 1.0,
    follow: bool = True,
) -> Run:
    trigger = AnyOf((LoadChange(0.1), Breach()))
    plant = FakePlant(load, disturb)
    return Run(plant, replace(policy(trigger, guard=Guard()), follow=follow), model(other), 0.0, 600.0)


def held(run: Run) -> list[Setting | None]:
    return [w.setting for w in run.windows if w.phase == "hold"]


def disturbed(*starts_s: float) -> Callable[[float], float]:
    return lambda time_s: 5.0 if time_s in starts_s else 1.0


def test_a_look_is_due_when_the_load_has_moved() -> None:
    following = Following(QPS)
    assert not following.is_due(1.009 * QPS)
    assert following.is_due(1.02 * QPS)
    problem = Problem(papers_space(), SLO, Objective.parse("power", SLO), 1.02 * QPS)
    assert following.setting(problem, GOOD, lambda p: model(OTHER)(p, 1)) == OTHER
    assert not following.is_due(1.02 * QPS)


def test_two_misses_in_a_row_are_no_bad_luck() -> None:
    following = Following(QPS)
    for meets, luck in ((True, True), (False, True), (True, True), (False, True), (False, False)):
        following.see(replace(WINDOW, meets_slo=meets))
        assert following.may_be_luck is luck


def test_an_optimizer_without_a_model_does_not_follow() -> None:
    problem = Problem(papers_space(), SLO, Objective.parse("power", SLO), QPS)
    assert Following(QPS).setting(problem, GOOD, lambda p: Scripted(p, ())) is None
    assert Following(QPS).setting(problem, GOOD, lambda p: make_optimizer("grid", p, seed=0)) is None


def test_a_load_that_moves_takes_the_setting_along_without_a_trial() -> None:
    run = play(lambda t: QPS * (1.05 if t >= 300.0 else 1.0), OTHER)
    assert held(run)[0] == GOOD
    assert held(run)[-1] == OTHER
    assert len(run.books.searches) == 1


@pytest.mark.parametrize("other", [None, GOOD])
def test_what_is_held_stays_where_the_model_knows_nothing_better(other: Setting | None) -> None:
    run = play(lambda t: QPS * (1.05 if t >= 300.0 else 1.0), other)
    assert set(map(str, held(run))) == {str(GOOD)}
    assert isinstance(run.plant, FakePlant)
    assert run.plant.applied.count(GOOD) == 2, "a trial's, and the hold's"


def test_a_window_over_the_slo_is_answered_by_a_step_and_not_by_the_fastest_setting() -> None:
    run = play(lambda _: QPS, OTHER, disturb=disturbed(120.0))
    assert held(run)[-1] == OTHER
    assert not [w for w in run.windows if w.phase == "fall-back"]
    assert len(run.books.searches) == 1


def test_a_step_after_the_last_window_ends_the_day() -> None:
    run = play(lambda _: QPS, OTHER, disturb=disturbed(540.0))
    assert run.done
    assert run.windows[-1].end_s == 600.0
    assert run.controller.held == OTHER


def test_a_second_window_over_the_slo_is_for_the_guard() -> None:
    run = play(lambda _: QPS, OTHER, disturb=disturbed(120.0, 180.0))
    assert next(w.setting for w in run.windows if w.phase == "fall-back") not in (GOOD, OTHER)
    assert [search.reason for search in run.books.searches] == ["start", "SLO missed"]


@pytest.mark.parametrize(("follow", "other"), [(False, OTHER), (True, None)])
def test_without_a_model_that_is_sure_the_guard_acts_at_once(follow: bool, other: Setting | None) -> None:  # noqa: FBT001
    run = play(lambda _: QPS, other, disturb=disturbed(120.0), follow=follow)
    assert [w for w in run.windows if w.phase == "fall-back"]


def test_a_window_that_was_cut_short_is_for_the_guard() -> None:
    plant = CuttingPlant(FakePlant(lambda _: QPS), lambda time_s: time_s == 120.0)
    run = Run(plant, replace(policy(Breach(), guard=Guard()), follow=True), model(OTHER), 0.0, 600.0)
    assert [w.setting for w in run.windows if w.phase == "fall-back"] == [FAST]
