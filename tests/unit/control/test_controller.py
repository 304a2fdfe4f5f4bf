from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayop.control.controller import Controller, Policy
from bayop.control.guard import Guard
from bayop.control.ledger import Search, Window
from bayop.control.triggers import AnyOf, Breach, Clock, LoadChange, Trigger, parse_trigger
from bayop.errors import InputError
from bayop.objective import Objective
from bayop.optimize import make_optimizer
from bayop.optimize.base import Finished, Observation, Optimizer, Prediction, Problem, Proposal
from bayop.slo import Slo
from bayop.space import FREQ_MHZ, RX_USECS, Setting
from bayop.testing.fakes import papers_space
from bayop.testing.plants import FakePlant

SLO = Slo.parse("p99<300us")
FAST: Setting = {RX_USECS: 2, FREQ_MHZ: 2900}
GOOD: Setting = {RX_USECS: 100, FREQ_MHZ: 2000}


@dataclass
class Scripted(Optimizer):
    """Tries what it was given and holds the last of it."""

    problem: Problem
    asks: tuple[Setting, ...]
    told: list[Observation] = field(default_factory=list)

    def ask(self, trials_left: int) -> Proposal | Finished:
        del trials_left
        return Proposal(self.asks[len(self.told)]) if len(self.told) < len(self.asks) else Finished("converged")

    def tell(self, observation: Observation) -> None:
        self.told.append(observation)

    def incumbent(self) -> Setting | None:
        return self.told[-1].setting if self.told else None

    def predict(self, setting: Setting) -> Prediction | None:
        del setting
        return None


def policy(trigger: Trigger | None = None, *, guard: Guard | None = None, max_trials: int = 15) -> Policy:
    objective = Objective.parse("power", SLO)
    return Policy(papers_space(), SLO, objective, trigger, guard, max_trials=max_trials)


def scripted(*asks: Setting) -> Callable[[Problem, int], Optimizer]:
    return lambda problem, _: Scripted(problem, asks)


def random_search(problem: Problem, number: int) -> Optimizer:
    return make_optimizer("random", problem, seed=number)


def phases(controller: Controller) -> list[tuple[str, float]]:
    return [(w.phase, w.duration_s) for w in controller.ledger.windows]


def test_without_a_trigger_the_default_stays() -> None:
    plant = FakePlant(lambda _: 4e5)
    controller = Controller(plant, policy(), scripted(FAST))
    controller.run(0.0, 7200.0)
    assert phases(controller) == [("default", 7200.0)]
    assert plant.applied == [None]


def test_it_searches_first_then_holds_what_was_found() -> None:
    plant = FakePlant(lambda _: 4e5)
    controller = Controller(plant, policy(LoadChange()), scripted(FAST, GOOD))
    controller.run(0.0, 600.0)
    assert phases(controller) == [("trial", 20.0), ("trial", 20.0), ("hold", 560.0)]
    assert controller.held == GOOD
    assert plant.applied[-1] == GOOD
    assert controller.ledger.searches[0].reason == "start"


def test_the_clock_searches_every_hour_on_the_hour() -> None:
    controller = Controller(FakePlant(lambda _: 4e5), policy(Clock()), scripted(FAST, GOOD))
    controller.run(0.0, 3 * 3600.0)
    assert [s.start_s for s in controller.ledger.searches] == [0.0, 3600.0, 7200.0]


def test_a_load_step_is_seen_in_the_next_window() -> None:
    plant = FakePlant(lambda t: 4e5 if t < 1000 else 6e5)
    controller = Controller(plant, policy(LoadChange()), scripted(GOOD))
    controller.run(0.0, 3600.0)
    assert [(s.start_s, s.reason, s.qps) for s in controller.ledger.searches] == [
        (0.0, "start", 4e5),
        (1080.0, "load +50%", 6e5),
    ]


def test_a_breach_falls_back_at_once_recovers_and_searches() -> None:
    plant = FakePlant(lambda _: 4e5, disturb=lambda t: 3.0 if 600 <= t < 660 else 1.0)
    controller = Controller(plant, policy(Breach(), guard=Guard()), scripted(FAST, GOOD))
    controller.run(0.0, 1800.0)
    assert phases(controller) == [
        ("trial", 20.0), ("trial", 20.0), ("hold", 560.0),
        ("hold", 60.0), ("fall-back", 60.0),
        ("trial", 20.0), ("trial", 20.0), ("hold", 1040.0),
    ]  # fmt: skip
    assert controller.ledger.windows[4].setting == FAST
    assert [s.reason for s in controller.ledger.searches] == ["start", "SLO missed"]
    assert controller.ledger.over_s == 60.0


def test_with_a_guard_and_only_the_clock_the_safe_setting_waits_for_the_hour() -> None:
    plant = FakePlant(lambda _: 4e5, disturb=lambda t: 3.0 if 600 <= t < 660 else 1.0)
    controller = Controller(plant, policy(Clock(), guard=Guard()), scripted(GOOD))
    controller.run(0.0, 3660.0)
    assert ("fall-back", 2940.0) in phases(controller)


def test_an_slo_that_nothing_meets_is_not_searched_for_without_end() -> None:
    plant = FakePlant(lambda _: 4e5, disturb=lambda _: 50.0)
    controller = Controller(plant, policy(Breach(rest_s=600), guard=Guard()), scripted(FAST))
    controller.run(0.0, 3600.0)
    assert len(controller.ledger.searches) <= 1 + 3600 / 600


def test_a_search_that_finds_nothing_leaves_the_default() -> None:
    plant = FakePlant(lambda _: 4e5)
    nothing = scripted()
    controller = Controller(plant, policy(Clock()), nothing)
    controller.run(0.0, 600.0)
    assert controller.held is None
    assert phases(controller) == [("default", 600.0)]


def test_what_was_learned_at_earlier_loads_is_the_next_searchs_history() -> None:
    problems: list[Problem] = []

    def make(problem: Problem, number: int) -> Optimizer:
        problems.append(problem)
        return scripted(FAST, GOOD)(problem, number)

    plant = FakePlant(lambda t: 4e5 if t < 3600 else 6e5)
    Controller(plant, policy(Clock()), make).run(0.0, 4000.0)
    assert problems[0].history == ()
    assert {(dict(o.setting)[RX_USECS], o.qps) for o in problems[1].history} == {(2, 4e5), (100, 4e5)}


def test_a_search_never_runs_past_the_end() -> None:
    controller = Controller(FakePlant(lambda _: 4e5), policy(Clock()), scripted(*[FAST] * 10))
    controller.run(0.0, 50.0)
    assert phases(controller) == [("trial", 20.0), ("trial", 20.0), ("hold", 10.0)]


@pytest.mark.parametrize("at_s", [30.0, 50.0, 600.0])
def test_ctrl_c_leaves_a_setting_held_and_the_books_in_order(at_s: float) -> None:
    plant = FakePlant(lambda _: 4e5, fail_at_s=at_s)
    controller = Controller(plant, policy(Clock()), scripted(FAST, GOOD))
    books = controller.run(0.0, 3600.0)
    assert controller.interrupted
    assert controller.held == plant.applied[-1]
    assert controller.held is not None
    assert books.duration_s <= at_s


def test_ctrl_c_in_the_first_trial_leaves_the_default() -> None:
    plant = FakePlant(lambda _: 4e5, fail_at_s=10.0)
    controller = Controller(plant, policy(Clock()), scripted(FAST))
    controller.run(0.0, 3600.0)
    assert controller.held is None
    assert plant.applied[-1] is None


@pytest.mark.parametrize("at_s", [10.0, 600.0])
def test_any_other_error_puts_the_default_back(at_s: float) -> None:
    plant = FakePlant(lambda _: 4e5, fail_at_s=at_s, failure=OSError)
    controller = Controller(plant, policy(Clock()), scripted(FAST, GOOD))
    with pytest.raises(OSError):  # noqa: PT011 -- the plant's own error has no text
        controller.run(0.0, 3600.0)
    assert plant.applied[-1] is None
    assert controller.held is None


def test_windows_and_searches_are_told_as_they_happen() -> None:
    windows: list[Window] = []
    searches: list[Search] = []
    controller = Controller(
        FakePlant(lambda _: 4e5), policy(Clock()), scripted(FAST, GOOD),
        on_window=windows.append, on_search=searches.append,
    )  # fmt: skip
    controller.run(0.0, 120.0)
    assert [w.start_s for w in windows] == [0.0, 20.0, 40.0, 60.0]
    assert [len(s.trials) for s in searches] == [2]


@settings(max_examples=25)
@given(
    steps=st.lists(st.floats(1e5, 7e5), min_size=1, max_size=4),
    trigger=st.sampled_from(["clock", "load", "breach", "load,breach", "clock,load,breach"]),
    noisy=st.lists(st.floats(0.5, 4.0), min_size=1, max_size=6),
    start_s=st.floats(0.0, 10_000.0),
    length_s=st.floats(1.0, 9000.0),
)
def test_time_is_conserved_and_energy_is_the_sum_over_windows(
    steps: list[float], trigger: str, noisy: list[float], start_s: float, length_s: float
) -> None:
    plant = FakePlant(lambda t: steps[int(t // 1800) % len(steps)], disturb=lambda t: noisy[int(t // 300) % len(noisy)])
    told: list[Window] = []
    controller = Controller(
        plant, policy(parse_trigger(trigger), guard=Guard(), max_trials=4), random_search, on_window=told.append
    )
    books = controller.run(start_s, start_s + length_s)
    assert books.duration_s == pytest.approx(length_s, abs=1e-4)
    assert sum(duration for _, duration in plant.windows) == pytest.approx(length_s, abs=1e-4)
    assert books.energy_j == pytest.approx(sum(w.power_w * w.duration_s for w in told))
    assert books.trials == sum(w.phase == "trial" for w in books.windows)
    assert controller.held == plant.applied[-1]


def test_windows_have_a_length() -> None:
    with pytest.raises(InputError):
        Policy(papers_space(), SLO, Objective.parse("power", SLO), AnyOf(()), None, trial_s=0.0)


def test_a_last_trial_that_missed_the_slo_starts_no_second_search() -> None:
    slow: Setting = {RX_USECS: 400, FREQ_MHZ: 1300}

    class HoldsTheFirst(Scripted):
        def incumbent(self) -> Setting | None:
            return self.told[0].setting if self.told else None

    controller = Controller(
        FakePlant(lambda _: 4e5), policy(Breach()), lambda problem, _: HoldsTheFirst(problem, (GOOD, slow))
    )
    controller.run(0.0, 1200.0)
    assert not controller.ledger.windows[1].meets_slo
    assert len(controller.ledger.searches) == 1


def test_a_search_without_trials_is_held_before_the_next() -> None:
    plant = FakePlant(lambda t: 4e5 if t < 3600 else 6e5)

    def make(problem: Problem, number: int) -> Optimizer:
        return scripted(*([GOOD] if number == 1 else []))(problem, number)

    controller = Controller(plant, policy(AnyOf((Clock(), LoadChange()))), make)
    controller.run(0.0, 7000.0)
    assert [s.start_s for s in controller.ledger.searches] == [0.0, 3600.0]
