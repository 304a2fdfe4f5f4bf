"""Knobs that matter only with others: of all settings in effect each is one candidate, and none is out of reach."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from bayop.domains import Choices, Condition, Range, Steps
from bayop.optimize import make_optimizer
from bayop.optimize.base import Finished, Proposal
from bayop.optimize.grey_box.candidates import Candidates
from bayop.optimize.grid import GridSearch
from bayop.optimize.measured import space_size
from bayop.optimize.random import RandomSearch
from bayop.search import run_search
from bayop.space import AUTO, Knob, Setting, Space, setting_key
from bayop.testing.fakes import FakeServer, awkward_spaces, make_problem

WORDS = ("p", "q", "r")


@st.composite
def knobs(draw: st.DrawFn, index: int) -> Knob:
    """A knob of up to six values, which may matter only with those before it."""
    domain = draw(
        st.one_of(
            st.integers(0, 5).map(lambda high: Steps(0, high, 1)),
            st.integers(1, 3).map(lambda count: Choices(WORDS[:count])),
        )
    )
    values = st.one_of(
        st.tuples(st.integers(0, 5), st.integers(0, 5)).map(lambda ends: Range(min(ends), max(ends))),
        st.sets(st.sampled_from(WORDS), min_size=1).map(tuple),
    )
    others = draw(st.sets(st.integers(0, index - 1), max_size=2)) if index else set()
    return Knob(
        f"app.knob{index}",
        domain,
        auto=draw(st.booleans()),
        safest=draw(st.sampled_from(("low", "high", None))),
        only_with=tuple(Condition(f"app.knob{other}", draw(values)) for other in sorted(others)),
    )


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    space = Space(tuple(draw(knobs(index)) for index in range(draw(st.integers(1, 4)))))
    space = Space(tuple(draw(st.permutations(space.knobs))))
    return space.without_auto() if draw(st.booleans()) else space


def every(space: Space) -> list[Setting]:
    """The product of all values, whether they matter or not."""
    return [dict(zip(space.ids, values, strict=True)) for values in product(*(k.values() for k in space.knobs))]


@given(spaces())
def test_no_two_settings_of_a_space_are_the_same_in_effect(space: Space) -> None:
    settings_ = space.settings()
    assert len({setting_key(space.in_effect(s)) for s in settings_}) == len(settings_) == space_size(space)
    assert all(space.check(s) == space.in_effect(s) == s for s in settings_)


@given(spaces())
def test_whatever_may_be_set_is_in_effect_one_of_the_settings(space: Space) -> None:
    known = {setting_key(s) for s in space.settings()}
    assert {setting_key(space.in_effect(s)) for s in every(space)} == known
    assert {setting_key(space.check(s)) for s in every(space)} == known


@given(spaces(), st.data())
def test_a_knob_that_does_not_matter_changes_nothing(space: Space, data: st.DataObject) -> None:
    setting = data.draw(st.sampled_from(every(space)))
    knob = data.draw(st.sampled_from(space.knobs))
    other = {**setting, knob.id: data.draw(st.sampled_from(knob.values()))}
    if not space.matters(knob.id, setting):
        assert space.in_effect(other) == space.in_effect(setting)
    elif other != setting:
        assert space.in_effect(other) != space.in_effect(setting)


@given(spaces(), st.data())
def test_a_knob_that_is_moved_leads_to_a_setting_of_the_space(space: Space, data: st.DataObject) -> None:
    setting = data.draw(st.sampled_from(space.settings()))
    knob = data.draw(st.sampled_from(space.knobs))
    moved = space.moved(setting, knob.id, data.draw(st.sampled_from(knob.values())))
    assert space.check(moved) == moved


@given(spaces(), st.sampled_from((4, 1000)), st.data())
def test_candidates_are_settings_each_once(space: Space, most: int, data: st.DataObject) -> None:
    candidates = Candidates(space, most=most)
    setting = data.draw(st.sampled_from(candidates.settings))
    around = candidates.around(setting)
    assert setting_key(setting) in {setting_key(s) for s in around}
    for selection in (candidates.settings, around, candidates.near([setting])):
        assert len({setting_key(s) for s in selection}) == len(selection)
        assert all(space.check(s) == s for s in selection)
    if most == 1000:
        assert {setting_key(s) for s in candidates.settings} == {setting_key(s) for s in space.settings()}


@settings(max_examples=30, deadline=None)
@given(spaces(), st.sampled_from((RandomSearch, GridSearch)), st.integers(0, 3))
def test_every_setting_is_tried_once_and_the_best_is_found(
    space: Space, search: type[RandomSearch | GridSearch], seed: int
) -> None:
    problem = make_problem(space, slo="p99<1s")
    server, optimizer = FakeServer(space, noise=0.0), search(problem, seed=seed)
    tried = []
    while isinstance(answer := optimizer.ask(len(space.settings())), Proposal):
        tried.append(setting_key(answer.setting))
        optimizer.tell(server.observe(answer.setting))
    assert answer == Finished("exhausted")
    assert sorted(map(hash, tried)) == sorted(hash(setting_key(s)) for s in space.settings())
    best = optimizer.incumbent()
    assert best is not None
    assert server.truth(best)["power_w"] == min(server.truth(s)["power_w"] for s in space.settings())


def test_auto_keeps_nothing_from_mattering() -> None:
    switch = Knob("app.switch", Choices(("on", "off")), auto=True)
    space = Space((switch, Knob("app.size", Steps(1, 9, 1), only_with=(Condition("app.switch", ("on",)),))))
    assert space.matters("app.size", {"app.switch": AUTO, "app.size": 3})


def test_the_model_finds_the_best_where_a_delay_does_not_always_matter() -> None:
    space = awkward_spaces()["conditional"]
    problem, server = make_problem(space, slo="p99<250us"), FakeServer(space)
    result = run_search(server, problem, make_optimizer("grey-box", problem, seed=0), max_trials=15)
    truths = [server.truth(setting) for setting in space.settings()]
    best_w = min(truth["power_w"] for truth in truths if truth["p99_us"] < 250)
    assert result.setting is not None
    assert server.truth(result.setting)["power_w"] < 1.01 * best_w
    assert len({setting_key(trial.setting) for trial in result.trials}) == len(result.trials)
