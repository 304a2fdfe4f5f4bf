"""What is known for a load is held without a trial: on a server of formulas, in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from bayop.control.controller import Controller
from bayop.control.drive import drive
from bayop.control.guard import Guard
from bayop.control.history import History
from bayop.control.ledger import LedgerWindow, Search
from bayop.control.policy import Policy
from bayop.control.triggers import AnyOf, Breach, LoadChange
from bayop.control.warm import Found, Warm
from bayop.control.week import Coming, HourLoad, Week
from bayop.domains import Range
from bayop.objective import Objective
from bayop.optimize import make_optimizer
from bayop.optimize.base import Observation, Optimizer, Problem
from bayop.search import Halt
from bayop.slo import Slo
from bayop.space import FREQ_MHZ, RX_USECS, Setting, Space
from bayop.testing.fakes import papers_space
from bayop.testing.plants import FakePlant

SLO = Slo.parse("p99<300us")
HOUR_S, DAY_S = 3600.0, 86_400.0


def grey_box(problem: Problem, number: int) -> Optimizer:
    return make_optimizer("grey-box", problem, seed=number)


class Kept:
    """What a controller did while the load went as it does."""

    def __init__(
        self,
        load: Callable[[float], float],
        end_s: float,
        *,
        warm: Warm | None,
        start_s: float = 0.0,
        history: History | None = None,
        halted: Callable[[float], Halt | None] = lambda _: None,
    ) -> None:
        self.windows: list[LedgerWindow] = []
        self.searches: list[Search] = []
        self.plant = FakePlant(load)
        policy = Policy(
            papers_space(),
            SLO,
            Objective.parse("power", SLO),
            AnyOf((LoadChange(0.1), Breach())),
            Guard(),
            watch_s=300.0,
            default_first=True,
        )
        self.controller = Controller(
            policy,
            grey_box,
            end_s=end_s,
            history=history,
            halted=halted,
            warm=warm,
            on_window=self.windows.append,
            on_search=self.searches.append,
        )
        drive(self.controller, self.plant, start_s)

    def at(self, time_s: float) -> LedgerWindow:
        return next(w for w in self.windows if w.start_s <= time_s < w.end_s)


def steps(time_s: float) -> float:
    """By turns an hour of one load and one of another."""
    return 3e5 if time_s // HOUR_S % 2 == 0 else 5e5


def test_a_load_that_was_searched_at_is_met_without_a_trial() -> None:
    kept = Kept(steps, 4 * HOUR_S, warm=Warm())
    assert [s.stopped for s in kept.searches] == ["converged", "converged", "warm", "warm"]
    first, second, again, too = kept.searches
    assert (again.setting, too.setting) == (first.setting, second.setting)
    assert (again.reason, again.trials, again.number) == ("load -40%", (), 3)
    assert again.start_s == again.end_s
    assert not [w for w in kept.windows if w.start_s >= 2 * HOUR_S and w.phase in ("default", "trial")]


def problem_at(qps: float, history: History) -> Problem:
    return Problem(papers_space(), SLO, Objective.parse("power", SLO), qps, history.near(qps))


@cache
def searched(qps: float) -> tuple[tuple[Observation, ...], Setting]:
    history = History()
    kept = Kept(lambda _: qps, HOUR_S, warm=None, history=history)
    assert kept.controller.held is not None
    return history.known, kept.controller.held


def found(qps: float) -> tuple[History, Setting]:
    """What a search of a load has left, and found."""
    known, setting = searched(qps)
    return History(known=known), setting


def setting_of(problem: Problem, results: list[Found], last: Search | None = None) -> Setting | None:
    return Warm(results).setting(problem, last, lambda problem: grey_box(problem, 1))


def test_a_setting_is_known_where_it_was_found_seen_and_is_believed_in() -> None:
    history, setting = found(4e5)
    known = [Found(4e5, setting)]
    assert setting_of(problem_at(4e5, history), known) == setting
    assert setting_of(problem_at(3.9e5, history), known) == setting
    assert setting_of(problem_at(4e5, history), []) is None, "no search has found it"
    assert setting_of(problem_at(4e5, History()), known) is None, "what it measured was forgotten"
    assert setting_of(problem_at(5e5, history), known) is None, "another load"
    warm = Warm(known)
    warm.forget()
    assert warm.setting(problem_at(4e5, history), None, lambda problem: grey_box(problem, 1)) is None, (
        "it saved nothing"
    )
    here = Search(1, "start", 0.0, 0.0, 4.1e5, (), "converged", setting)
    assert setting_of(problem_at(4e5, history), known, here) is None, "the load is that of the last search"


def test_what_missed_the_slo_or_is_too_near_to_it_is_not_known() -> None:
    history, setting = found(4e5)
    known = [Found(4e5, setting)]
    tight = replace(problem_at(4e5, history), headroom=0.3)
    assert setting_of(tight, known) is None, "the headroom has to be kept"
    slow = next(o for o in history.known if o.setting == setting)
    slow = Observation(
        setting, replace(slow.measurement, quantities={**slow.measurement.quantities, "p99_us": 400.0}), 4.1e5
    )
    history.add(slow)
    assert setting_of(problem_at(4e5, history), known) is None


@pytest.mark.parametrize(
    "space",
    [
        Space((papers_space()[RX_USECS],)),
        Space((papers_space()[RX_USECS], papers_space()[FREQ_MHZ].within(Range(2500, 2900)))),
    ],
)
def test_what_may_not_be_set_any_more_is_not_known(space: Space) -> None:
    history, setting = found(4e5)
    assert float(setting[FREQ_MHZ]) < 2500
    assert setting_of(replace(problem_at(4e5, history), space=space), [Found(4e5, setting)]) is None


def test_a_search_that_is_asked_for_tries() -> None:
    history, setting = found(4e5)
    controller = Kept(lambda _: 4e5, 0.0, warm=Warm([Found(4e5, setting)]), history=history).controller
    controller._end_s = 3600.0
    controller.ask()
    controller.poll(0.0, 4e5)
    assert controller.phase == "default", "a window of the default comes before the first trial"


def test_after_a_restart_what_is_known_is_held_at_once() -> None:
    history, setting = found(4e5)
    kept = Kept(lambda _: 4e5, HOUR_S, warm=Warm([Found(4e5, setting)]), history=history)
    assert [(s.reason, s.stopped, s.setting) for s in kept.searches] == [("start", "warm", setting)]
    assert {w.phase for w in kept.windows} == {"hold"}


def office(time_s: float) -> float:
    hour = time_s % DAY_S / HOUR_S
    return 6e5 if 9 <= hour < 17 and time_s // DAY_S % 7 < 5 else 2.5e5


def learning(load: Callable[[float], float]) -> Callable[[float], Coming | None]:
    """The week as learned, at any time, from every hour before."""

    def coming(now_s: float) -> Coming | None:
        hours = [HourLoad(HOUR_S * n, load(HOUR_S * n)) for n in range(int(now_s // HOUR_S))]
        return Week(hours).coming(now_s, 600.0)

    return coming


def test_the_setting_for_the_load_of_the_week_is_there_before_the_load() -> None:
    kept = Kept(office, 3.5 * DAY_S, warm=Warm(coming=learning(office)))
    for day in range(4):
        nine_s = DAY_S * day + 9 * HOUR_S
        assert kept.at(nine_s).meets_slo == (day >= 3), "three days teach an hour of the day"
    (ahead,) = (s for s in kept.searches if s.start_s > 3 * DAY_S)
    assert (ahead.start_s % DAY_S, ahead.reason, ahead.stopped) == (
        9 * HOUR_S - 600.0,
        "schedule: load +140% soon",
        "warm",
    )
    assert len([s for s in kept.searches if s.stopped != "warm"]) == 2, "one for each load"


def test_a_load_that_does_not_come_is_awaited_for_its_hour() -> None:
    history, setting = found(6e5)
    low, low_setting = found(2.5e5)
    for observation in low.known:
        history.add(observation)
    warm = Warm(
        [Found(6e5, setting), Found(2.5e5, low_setting)], lambda s: Coming(6e5, 7200.0) if 3000 <= s < 3600 else None
    )
    kept = Kept(lambda _: 2.5e5, 3 * HOUR_S, warm=warm, history=history)
    assert [(s.start_s, s.setting) for s in kept.searches] == [(0, low_setting), (3000, setting), (7200, low_setting)]


def test_nothing_is_prepared_in_quiet_hours_or_for_a_load_that_is_not_known() -> None:
    history, setting = found(2.5e5)
    soon = lambda s: Coming(6e5, 7200.0) if s > 0 else None  # noqa: E731
    kept = Kept(lambda _: 2.5e5, HOUR_S, warm=Warm([Found(2.5e5, setting)], soon), history=history)
    assert len(kept.searches) == 1
    both, other = found(6e5)
    for observation in history.known:
        both.add(observation)
    results = [Found(2.5e5, setting), Found(6e5, other)]
    quiet = Kept(
        lambda _: 2.5e5, HOUR_S, warm=Warm(results, soon), history=both, halted=lambda s: "quiet" if s > 0 else None
    )
    assert len(quiet.searches) == 1
