from __future__ import annotations

from bayop.domains import Choices, Steps
from bayop.optimize.base import Finished, Proposal
from bayop.optimize.random import RandomSearch
from bayop.space import FREQ_MHZ, RX_USECS, Knob, Space, setting_key
from bayop.testing.fakes import FakeServer, make_problem

SMALL = Space((Knob(RX_USECS, Choices((2, 4, 6))), Knob(FREQ_MHZ, Choices((1300, 2900)))))
HUGE = Space(tuple(Knob(f"user.knob{i}", Steps(0, 999, 1)) for i in range(6)))


def test_tries_every_setting_once_and_says_so() -> None:
    problem = make_problem(SMALL)
    server, search = FakeServer(SMALL), RandomSearch(problem, seed=0)
    keys = []
    while isinstance(answer := search.ask(9), Proposal):
        keys.append(setting_key(answer.setting))
        search.tell(server.observe(answer.setting))
    assert answer == Finished("exhausted")
    assert len(keys) == 6
    assert set(keys) == {setting_key(s) for s in SMALL.settings()}


def test_the_seed_decides_the_order() -> None:
    orders = []
    for seed in (0, 0, 1):
        server, search = FakeServer(SMALL), RandomSearch(make_problem(SMALL), seed=seed)
        order = []
        while isinstance(answer := search.ask(9), Proposal):
            order.append(dict(answer.setting))
            search.tell(server.observe(answer.setting))
        orders.append(order)
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]


def test_does_not_try_what_was_told_unasked() -> None:
    server, search = FakeServer(SMALL), RandomSearch(make_problem(SMALL), seed=0)
    for setting in SMALL.settings()[:5]:
        search.tell(server.observe(setting))
    assert search.ask(1) == Proposal(SMALL.settings()[5])


def test_a_space_too_large_to_list_costs_nothing() -> None:
    problem = make_problem(HUGE)
    search = RandomSearch(problem, seed=0)
    answer = search.ask(15)
    assert isinstance(answer, Proposal)
    assert dict(HUGE.check(answer.setting)) == dict(answer.setting)


def test_has_no_model() -> None:
    assert RandomSearch(make_problem(SMALL), seed=0).predict(SMALL.settings()[0]) is None
