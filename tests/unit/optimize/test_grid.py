from __future__ import annotations

import pytest

from bayop.domains import Choices, Steps
from bayop.optimize.base import Finished, Proposal
from bayop.optimize.grid import GridSearch
from bayop.space import AUTO, FREQ_MHZ, RX_USECS, Knob, Setting, Space
from bayop.testing.fakes import FakeServer, make_problem, papers_space

GOVERNOR = Knob("idle.governor", Choices(("menu", "teo", "haltpoll")))


def search(space: Space, budget: int, trials: int | None = None) -> tuple[list[Setting], Finished | None]:
    server, grid = FakeServer(space), GridSearch(make_problem(space), seed=0)
    settings: list[Setting] = []
    for trials_left in range(budget, budget - (trials or budget), -1):
        answer = grid.ask(max(trials_left, 1))
        if isinstance(answer, Finished):
            return settings, answer
        settings.append(answer.setting)
        grid.tell(server.observe(answer.setting))
    return settings, None


def axis(settings: list[Setting], knob_id: str) -> list[float | str]:
    return sorted({s[knob_id] for s in settings}, key=str)


@pytest.mark.parametrize(
    ("budget", "delays", "freqs"), [(1, 1, 1), (2, 2, 1), (4, 2, 2), (15, 5, 3), (25, 5, 5), (30, 6, 5)]
)
def test_is_sized_to_the_budget(budget: int, delays: int, freqs: int) -> None:
    settings, _ = search(papers_space(), budget)
    assert len(settings) == budget
    assert (len(axis(settings, RX_USECS)), len(axis(settings, FREQ_MHZ))) == (delays, freqs)


def test_is_even_and_has_both_ends_of_every_knob() -> None:
    settings, _ = search(papers_space(), 15)
    assert {s[RX_USECS] for s in settings} == {2, 102, 202, 300, 400}
    assert {s[FREQ_MHZ] for s in settings} == {1300, 2100, 2900}


def test_goes_from_the_safest_setting_outwards() -> None:
    settings, _ = search(papers_space(), 15)
    assert dict(settings[0]) == {RX_USECS: 2, FREQ_MHZ: 2900}
    assert dict(settings[-1]) == {RX_USECS: 400, FREQ_MHZ: 1300}


def test_refines_when_trials_are_left_and_tries_nothing_twice() -> None:
    space = Space((Knob(RX_USECS, Steps(2, 20, 2), safest="low"), GOVERNOR))
    settings, finished = search(space, 7, trials=100)
    assert finished == Finished("exhausted")
    assert len(settings) == 30
    assert len({tuple(s.items()) for s in settings}) == 30


def test_lists_categories_and_auto_as_they_come() -> None:
    space = Space((Knob(RX_USECS, Steps(2, 400, 2), auto=True, safest="low"), GOVERNOR))
    settings, _ = search(space, 9)
    assert {s[RX_USECS] for s in settings} == {2, 202, AUTO}
    assert {s["idle.governor"] for s in settings} == {"menu", "teo", "haltpoll"}


def test_does_not_try_what_was_told_unasked() -> None:
    space = papers_space()
    server, grid = FakeServer(space), GridSearch(make_problem(space), seed=0)
    grid.tell(server.observe({RX_USECS: 2, FREQ_MHZ: 2900}))
    answer = grid.ask(15)
    assert isinstance(answer, Proposal)
    assert dict(answer.setting) != {RX_USECS: 2, FREQ_MHZ: 2900}


def test_no_seed_changes_a_grid() -> None:
    problem = make_problem(papers_space())
    assert GridSearch(problem, seed=0).ask(15) == GridSearch(problem, seed=1).ask(15)
