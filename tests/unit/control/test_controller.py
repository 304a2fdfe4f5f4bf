from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayop.control.actions import Applied, Apply, Done, FellBack, Watch
from bayop.control.controller import Controller
from bayop.control.drive import drive
from bayop.control.guard import Guard
from bayop.control.history import History
from bayop.control.ledger import Ledger, LedgerWindow, Search
from bayop.control.policy import Policy
from bayop.control.triggers import AnyOf, Breach, Clock, LoadChange, Trigger, parse_trigger
from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.objective import Objective
from bayop.optimize import make_optimizer
from bayop.optimize.base import Finished, Observation, Optimizer, Prediction, Problem, Proposal
from bayop.optimize.grey_box.outputs import RESIDUAL_SCALES
from bayop.optimize.grey_box.prior import SHAPES
from bayop.optimize.server_class import ServerClass
from bayop.search import Halt
from bayop.slo import Slo
from bayop.space import FREQ_MHZ, RX_USECS, Setting
from bayop.target.plant import Plant
from bayop.testing.fakes import papers_space
from bayop.testing.plants import CuttingPlant, FakePlant

SLO = Slo.parse("p99<300us")
FAST: Setting = {RX_USECS: 2, FREQ_MHZ: 2900}
GOOD: Setting = {RX_USECS: 100, FREQ_MHZ: 2000}


@dataclass
class Scripted(Optimizer):
    """Tries what it was given and holds the last of it."""

    problem: Problem
    asks: tuple[Setting, ...]
    observations: list[Observation] = field(default_factory=list)

    def ask(self, trials_left: int) -> Proposal | Finished:
        del trials_left
        number = len(self.observations)
        return Proposal(self.asks[number]) if number < len(self.asks) else Finished("converged")

    def tell(self, observation: Observation) -> None:
        self.observations.append(observation)

    def incumbent(self) -> Setting | None:
        return self.observations[-1].setting if self.observations else None

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


@dataclass
class Run:
    """What a controller did with a plant from `start_s` to `end_s`."""

    plant: Plant
    policy: Policy
    make_optimizer: Callable[[Problem, int], Optimizer]
    start_s: float
    end_s: float
    halted: Callable[[float], Halt | None] = lambda _: None
    books: Ledger = field(default_factory=Ledger)
    windows: list[LedgerWindow] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.controller = Controller(
            self.policy, self.make_optimizer, end_s=self.end_s, halted=self.halted,
            on_window=self._on_window, on_search=self.books.searches.append,
        )  # fmt: skip
        self.done = drive(self.controller, self.plant, self.start_s)

    def _on_window(self, window: LedgerWindow) -> None:
        self.windows.append(window)
        self.books.add(window)

    @property
    def phases(self) -> list[tuple[str, float]]:
        return [(w.phase, w.duration_s) for w in self.books.windows]


def test_without_a_trigger_the_default_stays() -> None:
    plant = FakePlant(lambda _: 4e5)
    run = Run(plant, policy(), scripted(FAST), 0.0, 7200.0)
    assert run.phases == [("default", 7200.0)]
    assert plant.applied == [None]


def test_it_searches_first_then_holds_what_was_found() -> None:
    plant = FakePlant(lambda _: 4e5)
    run = Run(plant, policy(LoadChange()), scripted(FAST, GOOD), 0.0, 600.0)
    assert run.phases == [("trial", 20.0), ("trial", 20.0), ("hold", 560.0)]
    assert run.controller.held == GOOD
    assert plant.applied[-1] == GOOD
    assert run.books.searches[0].reason == "start"


def test_who_may_not_search_yet_watches_a_window_and_asks_again() -> None:
    asked: list[bool] = []

    def may_search(_: str) -> bool:
        asked.append(len(asked) == 2)
        return asked[-1]

    plant, watched = FakePlant(lambda _: 4e5), Ledger()
    controller = Controller(
        replace(policy(LoadChange()), phase_s=10.0),
        scripted(GOOD),
        end_s=600.0,
        may_search=may_search,
        on_window=watched.add,
    )
    drive(controller, plant, 0.0)
    assert asked == [False, False, True]
    assert [(w.phase, w.start_s, w.duration_s) for w in watched.windows] == [
        ("default", 0.0, 70.0),
        ("trial", 70.0, 20.0),
        ("hold", 90.0, 510.0),
    ]


def test_what_an_operator_asks_for_waits_for_its_turn_and_is_not_forgotten() -> None:
    asked: list[str] = []

    def may_search(reason: str) -> bool:
        asked.append(reason)
        return len(asked) > 2

    plant, found = FakePlant(lambda _: 4e5), list[Search]()
    controller = Controller(
        policy(LoadChange()), scripted(GOOD), end_s=600.0, may_search=may_search, on_search=found.append
    )
    controller.ask()
    drive(controller, plant, 0.0)
    assert asked == ["asked for"] * 3
    assert [(s.start_s, s.reason) for s in found] == [(120.0, "asked for")]


def test_the_clock_searches_every_hour_on_the_hour() -> None:
    run = Run(FakePlant(lambda _: 4e5), policy(Clock()), scripted(FAST, GOOD), 0.0, 3 * 3600.0)
    assert [s.start_s for s in run.books.searches] == [0.0, 3600.0, 7200.0]


def test_a_load_step_is_seen_in_the_next_window() -> None:
    plant = FakePlant(lambda t: 4e5 if t < 1000 else 6e5)
    run = Run(plant, policy(LoadChange()), scripted(GOOD), 0.0, 3600.0)
    assert [(s.start_s, s.reason, s.qps) for s in run.books.searches] == [
        (0.0, "start", 4e5),
        (1080.0, "load +50%", 6e5),
    ]


def test_a_breach_falls_back_at_once_recovers_and_searches() -> None:
    plant = FakePlant(lambda _: 4e5, disturb=lambda t: 3.0 if 600 <= t < 660 else 1.0)
    run = Run(plant, policy(Breach(), guard=Guard()), scripted(FAST, GOOD), 0.0, 1800.0)
    assert run.phases == [
        ("trial", 20.0), ("trial", 20.0), ("hold", 560.0),
        ("hold", 60.0), ("fall-back", 60.0),
        ("trial", 20.0), ("trial", 20.0), ("hold", 1040.0),
    ]  # fmt: skip
    assert run.books.windows[4].setting == FAST
    assert [s.reason for s in run.books.searches] == ["start", "SLO missed"]
    assert run.books.over_s == 60.0


def test_with_a_guard_and_only_the_clock_the_safe_setting_waits_for_the_hour() -> None:
    plant = FakePlant(lambda _: 4e5, disturb=lambda t: 3.0 if 600 <= t < 660 else 1.0)
    run = Run(plant, policy(Clock(), guard=Guard()), scripted(GOOD), 0.0, 3660.0)
    assert ("fall-back", 2940.0) in run.phases


def test_an_slo_that_nothing_meets_is_not_searched_for_without_end() -> None:
    plant = FakePlant(lambda _: 4e5, disturb=lambda _: 50.0)
    run = Run(plant, policy(Breach(rest_s=600), guard=Guard()), scripted(FAST), 0.0, 3600.0)
    assert len(run.books.searches) <= 1 + 3600 / 600


def test_a_search_that_finds_nothing_leaves_the_default() -> None:
    plant = FakePlant(lambda _: 4e5)
    nothing = scripted()
    run = Run(plant, policy(Clock()), nothing, 0.0, 600.0)
    assert run.controller.held is None
    assert run.phases == [("default", 600.0)]


def test_what_was_learned_at_earlier_loads_is_the_next_searchs_history() -> None:
    problems: list[Problem] = []

    def make(problem: Problem, number: int) -> Optimizer:
        problems.append(problem)
        return scripted(FAST, GOOD)(problem, number)

    plant = FakePlant(lambda t: 4e5 if t < 3600 else 6e5)
    Run(plant, policy(Clock()), make, 0.0, 4000.0)
    assert problems[0].history == ()
    assert {(dict(o.setting)[RX_USECS], o.qps) for o in problems[1].history} == {(2, 4e5), (100, 4e5)}


def test_a_search_never_runs_past_the_end() -> None:
    run = Run(FakePlant(lambda _: 4e5), policy(Clock()), scripted(*[FAST] * 10), 0.0, 50.0)
    assert run.phases == [("trial", 20.0), ("trial", 20.0), ("hold", 10.0)]


@pytest.mark.parametrize("at_s", [30.0, 50.0, 600.0])
def test_ctrl_c_leaves_a_setting_held_and_the_books_in_order(at_s: float) -> None:
    plant = FakePlant(lambda _: 4e5, fail_at_s=at_s)
    run = Run(plant, policy(Clock()), scripted(FAST, GOOD), 0.0, 3600.0)
    assert not run.done
    assert run.controller.held == plant.applied[-1]
    assert run.controller.held is not None
    assert run.books.duration_s <= at_s
    assert run.books.searches[0].stopped == ("interrupted" if at_s < 40.0 else "converged")


def test_ctrl_c_in_the_first_trial_leaves_the_default() -> None:
    plant = FakePlant(lambda _: 4e5, fail_at_s=10.0)
    run = Run(plant, policy(Clock()), scripted(FAST), 0.0, 3600.0)
    assert run.controller.held is None
    assert plant.applied[-1] is None


@pytest.mark.parametrize("at_s", [10.0, 600.0])
def test_any_other_error_puts_the_default_back(at_s: float) -> None:
    plant = FakePlant(lambda _: 4e5, fail_at_s=at_s, failure=OSError)
    with pytest.raises(OSError):  # noqa: PT011 -- the plant's own error has no text
        Run(plant, policy(Clock()), scripted(FAST, GOOD), 0.0, 3600.0)
    assert plant.applied[-1] is None


def test_windows_and_searches_are_told_as_they_happen() -> None:
    run = Run(FakePlant(lambda _: 4e5), policy(Clock()), scripted(FAST, GOOD), 0.0, 120.0)
    assert [w.start_s for w in run.windows] == [0.0, 20.0, 40.0, 60.0]
    assert [len(s.trials) for s in run.books.searches] == [2]


def test_it_says_what_to_do_and_until_when_and_does_nothing_itself() -> None:
    controller = Controller(policy(LoadChange()), scripted(GOOD), end_s=100.0)
    measurement = Measurement({"power_w": 80.0, "p99_us": 100.0, "p50_us": 50.0})
    assert controller.poll(0.0, 4e5) == Apply(GOOD)
    assert controller.poll(0.0, 4e5, Applied(GOOD)) == Watch(20.0)
    assert controller.poll(20.0, 4e5, measurement) == Apply(GOOD)
    assert controller.poll(20.0, 4e5, Applied(GOOD)) == Watch(60.0)
    assert controller.poll(60.0, 4e5, measurement) == Watch(100.0)
    assert controller.poll(100.0, 4e5, measurement) == Done()


def test_what_is_in_effect_is_what_the_books_and_the_optimizer_are_told() -> None:
    optimizers: list[Scripted] = []

    def make(problem: Problem, _: int) -> Optimizer:
        optimizers.append(Scripted(problem, (GOOD,)))
        return optimizers[-1]

    rounded: Setting = {**GOOD, RX_USECS: 98}
    windows: list[LedgerWindow] = []
    controller = Controller(policy(LoadChange()), make, end_s=100.0, on_window=windows.append)
    controller.poll(0.0, 4e5)
    controller.poll(0.0, 4e5, Applied(rounded))
    controller.poll(20.0, 4e5, Measurement({"power_w": 80.0, "p99_us": 100.0}))
    assert windows[0].setting == rounded
    assert (optimizers[0].observations[0].setting, optimizers[0].observations[0].asked) == (rounded, GOOD)


def test_a_trial_that_is_cut_short_is_a_miss_whose_harm_ends_at_once() -> None:
    plant = FakePlant(lambda _: 4e5)
    run = Run(CuttingPlant(plant, lambda t: t == 20.0), policy(LoadChange()), scripted(FAST, GOOD), 0.0, 600.0)
    assert run.phases == [("trial", 20.0), ("trial", 5.0), ("hold", 575.0)]
    cut = run.books.windows[1]
    assert (cut.meets_slo, cut.power_w, cut.latency_us, cut.over_share) == (False, None, None, 1.0)
    assert [t.meets_slo for t in run.books.searches[0].trials] == [True, False]
    assert plant.applied[3] == FAST


def test_a_hold_that_is_cut_short_is_a_miss_and_falls_back() -> None:
    cutting = CuttingPlant(FakePlant(lambda _: 4e5), lambda t: t == 600.0)
    run = Run(cutting, policy(Breach(), guard=Guard()), scripted(FAST, GOOD), 0.0, 1200.0)
    assert run.phases[3:5] == [("hold", 15.0), ("fall-back", 45.0)]
    assert run.books.windows[4].setting == FAST
    assert [s.reason for s in run.books.searches] == ["start", "SLO missed"]


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
    behaviour = policy(parse_trigger(trigger), guard=Guard(), max_trials=4)
    run = Run(plant, behaviour, random_search, start_s, start_s + length_s)
    assert run.done
    assert run.books.duration_s == pytest.approx(length_s, abs=1e-4)
    assert sum(duration for _, duration in plant.windows) == pytest.approx(length_s, abs=1e-4)
    assert run.books.energy_j == pytest.approx(sum((w.power_w or 0.0) * w.duration_s for w in run.windows))
    assert run.books.trials == sum(w.phase == "trial" for w in run.books.windows)
    assert run.controller.held == plant.applied[-1]


def test_windows_have_a_length() -> None:
    with pytest.raises(InputError):
        Policy(papers_space(), SLO, Objective.parse("power", SLO), AnyOf(()), None, trial_s=0.0)


def test_a_last_trial_that_missed_the_slo_starts_no_second_search() -> None:
    slow: Setting = {RX_USECS: 400, FREQ_MHZ: 1300}

    class HoldsTheFirst(Scripted):
        def incumbent(self) -> Setting | None:
            return self.observations[0].setting if self.observations else None

    plant = FakePlant(lambda _: 4e5)
    run = Run(plant, policy(Breach()), lambda problem, _: HoldsTheFirst(problem, (GOOD, slow)), 0.0, 1200.0)
    assert not run.books.windows[1].meets_slo
    assert len(run.books.searches) == 1


def test_a_search_without_trials_is_held_before_the_next() -> None:
    plant = FakePlant(lambda t: 4e5 if t < 3600 else 6e5)

    def make(problem: Problem, number: int) -> Optimizer:
        return scripted(*([GOOD] if number == 1 else []))(problem, number)

    run = Run(plant, policy(AnyOf((Clock(), LoadChange()))), make, 0.0, 7000.0)
    assert [s.start_s for s in run.books.searches] == [0.0, 3600.0]


def live(*, guard: Guard | None = None) -> Policy:
    return replace(policy(AnyOf((LoadChange(), Breach(0.0))), guard=guard), default_first=True, small_steps=True)


def test_a_search_may_begin_with_a_window_of_the_default() -> None:
    problems: list[Problem] = []

    def make(problem: Problem, _: int) -> Optimizer:
        problems.append(problem)
        return Scripted(problem, (GOOD,))

    plant = FakePlant(lambda t: 4e5 if t < 1000 else 6e5)
    run = Run(plant, live(), make, 0.0, 1200.0)
    assert [phase for phase, _ in run.phases[:5]] == ["default", "trial", "hold", "hold", "default"]
    assert [p.qps for p in problems] == [4e5, 6e5]
    assert [p.small_steps for p in problems] == [True, True]
    assert problems[0].default is not None
    assert problems[0].default["power_w"] > run.windows[1].power_w  # type: ignore[operator]


def test_a_server_that_has_fallen_back_is_watched_in_its_default_and_then_searched_anew() -> None:
    history, windows = History(), list[LedgerWindow]()
    controller = Controller(live(), scripted(GOOD), history=history, on_window=windows.append)
    default, window = (Measurement({"power_w": w, "p99_us": 100.0, "p50_us": 50.0}) for w in (90.0, 80.0))
    controller.poll(0.0, 4e5)
    controller.poll(0.0, 4e5, Applied(None))
    controller.poll(20.0, 4e5, default)
    controller.poll(20.0, 4e5, Applied(GOOD))
    assert controller.searching
    assert controller.poll(40.0, 4e5, window) == Apply(GOOD)
    assert not controller.searching
    assert controller.poll(40.0, 4e5, Applied(GOOD)) == Watch(60.0)
    cut = Measurement({"p99_us": 900.0}, cut_short="the agent fell back")
    assert controller.poll(50.0, 4e5, FellBack(cut, by_latency=False)) == Watch(60.0)
    assert (windows[-1].over_share, windows[-1].meets_slo) == (0.0, False)
    assert controller.held is None
    assert not [o for o in history.near(4e5) if o.measurement.censored], "the setting was not to blame"
    assert controller.poll(60.0, 4e5, window) == Apply(None), "the default's window, then the search"
    controller.poll(60.0, 4e5, Applied(None))
    assert controller.poll(80.0, 4e5, default) == Apply(GOOD)


def test_a_setting_that_made_clients_wait_is_remembered_for_it() -> None:
    history, windows = History(), list[LedgerWindow]()
    controller = Controller(live(), scripted(GOOD), history=history, on_window=windows.append)
    default, window = (Measurement({"power_w": w, "p99_us": 100.0, "p50_us": 50.0}) for w in (90.0, 80.0))
    for now_s, answer in ((0.0, None), (0.0, Applied(None)), (20.0, default), (20.0, Applied(GOOD)), (40.0, window)):
        controller.poll(now_s, 4e5, answer)
    controller.poll(40.0, 4e5, Applied(GOOD))
    controller.poll(50.0, 4e5, FellBack(Measurement({}, cut_short="p99 900 us"), by_latency=True))
    assert windows[-1].over_share == 1.0, "how many they were is not known"
    (seen,) = history.near(4e5)
    assert (seen.setting, seen.measurement.censored) == (GOOD, True)


def until(end_s: float, halt: Halt = "quiet", *, since_s: float = 0.0) -> Callable[[float], Halt | None]:
    return lambda now_s: halt if since_s <= now_s < end_s else None


def test_no_search_begins_while_nothing_may_be_tried() -> None:
    plant = FakePlant(lambda t: 4e5 if t < 2000 else 6e5)
    halted = until(5000, since_s=1000)
    run = Run(plant, policy(LoadChange()), scripted(GOOD), 0.0, 6000.0, halted)
    assert [(s.start_s, s.reason) for s in run.books.searches] == [(0.0, "start"), (5040.0, "load +50%")]
    assert {w.phase for w in run.windows if 1000 < w.start_s < 5000} == {"hold"}, "what is held stays"
    first = Run(FakePlant(lambda _: 4e5), policy(LoadChange()), scripted(GOOD), 0.0, 1200.0, until(600))
    assert [s.start_s for s in first.books.searches] == [600.0]
    assert first.phases[0] == ("default", 600.0)


@pytest.mark.parametrize("halt", ["quiet", "overspent"])
def test_a_search_ends_with_what_it_has_and_goes_on_afterwards(halt: Halt) -> None:
    run = Run(
        FakePlant(lambda _: 4e5), policy(LoadChange()), scripted(FAST, GOOD, FAST), 0.0, 1200.0,
        until(600, halt, since_s=30),
    )  # fmt: skip
    first, second = run.books.searches
    assert (first.stopped, len(first.trials), first.setting) == (halt, 2, GOOD)
    assert run.phases[:3] == [("trial", 20.0), ("trial", 20.0), ("hold", 560.0)], "the trial under way is not lost"
    assert (second.start_s, second.reason) == (600.0, f"goes on, was {halt}")
    assert second.stopped == "converged"


def test_what_misses_the_slo_while_nothing_may_be_tried_gives_way_to_the_default() -> None:
    plant = FakePlant(lambda _: 4e5, disturb=lambda t: 3.0 if 600 <= t < 660 else 1.0)
    halted = until(1500, "overspent", since_s=300)
    run = Run(plant, policy(Breach(), guard=Guard()), scripted(FAST, GOOD), 0.0, 1800.0, halted)
    fell = next(w for w in run.books.windows if w.phase == "fall-back")
    assert (fell.start_s, fell.setting, fell.duration_s) == (660.0, None, 840.0)
    assert [(s.start_s, s.reason) for s in run.books.searches] == [(0.0, "start"), (1500.0, "SLO missed")]


def test_the_guard_tries_nothing_from_the_default_on_while_nothing_may_be_tried() -> None:
    plant = FakePlant(lambda _: 4e5, disturb=lambda _: 50.0)
    run = Run(plant, policy(Breach(), guard=Guard()), scripted(FAST), 0.0, 600.0, until(601))
    assert {w.setting for w in run.books.windows} == {None}
    assert plant.applied == [None]


def test_a_search_that_is_asked_for_begins_at_the_next_poll_and_not_twice() -> None:
    searches: list[Search] = []
    controller = Controller(policy(LoadChange()), scripted(GOOD), on_search=searches.append)
    seen = Measurement({"power_w": 80.0, "p99_us": 200.0, "qps": 4e5})
    assert controller.poll(0.0, 4e5) == Apply(GOOD)
    controller.poll(0.0, 4e5, Applied(GOOD))
    assert not controller.between_searches
    controller.poll(20.0, 4e5, seen)
    assert controller.poll(20.0, 4e5, Applied(GOOD)) == Watch(60.0)
    assert controller.may_end_window
    controller.ask()
    assert controller.poll(31.0, 4e5) == Apply(GOOD)
    assert not controller.may_end_window
    controller.poll(31.0, 4e5, Applied(GOOD))
    controller.poll(51.0, 4e5, seen)
    assert controller.poll(51.0, 4e5, Applied(GOOD)) == Watch(60.0)
    controller.poll(60.0, 4e5, seen)
    assert [s.reason for s in searches] == ["start", "asked for"]


def test_what_is_asked_for_while_nothing_may_be_tried_is_not_done_later() -> None:
    controller = Controller(policy(LoadChange()), scripted(GOOD), halted=until(100))
    controller.ask()
    assert controller.poll(0.0, 4e5) == Watch(60.0)
    seen = Measurement({"power_w": 80.0, "p99_us": 200.0, "qps": 4e5})
    assert controller.poll(60.0, 4e5, seen) == Watch(120.0)


def test_its_searches_know_the_class_of_the_server() -> None:
    known = ServerClass(dict(SHAPES), dict(RESIDUAL_SCALES))
    problems: list[Problem] = []

    def make(problem: Problem, number: int) -> Optimizer:
        problems.append(problem)
        return scripted(FAST)(problem, number)

    Run(FakePlant(lambda _: 4e5), replace(policy(LoadChange()), server_class=known), make, 0.0, 600.0)
    assert [problem.server_class for problem in problems] == [known]
