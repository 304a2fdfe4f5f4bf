from __future__ import annotations

from bayop.domains import Choices, Condition, Steps
from bayop.explain import explain
from bayop.optimize.base import Prediction
from bayop.space import AUTO, FREQ_MHZ, RX_USECS, Knob, Setting, Space
from bayop.testing.fakes import make_problem, papers_space

PROBLEM = make_problem(papers_space(auto=True))


def predict(setting: Setting) -> Prediction:
    power_w = float(setting[FREQ_MHZ]) / 100 - float(setting[RX_USECS]) / 1000
    return Prediction({"power_w": power_w, "p99_us": 100.0}, {}, 0.9, power_w)


def test_a_knob_that_does_not_matter_has_no_alternatives() -> None:
    off = (Condition("nic.adaptive_rx", ("off",)),)
    delay = Knob(RX_USECS, Steps(2, 8, 2), auto=True, safest="low", only_with=off)
    polls = Knob("app.polls", Steps(0, 1, 1), only_with=(Condition(RX_USECS, (8,)),))
    space = Space((delay, Knob("nic.adaptive_rx", Choices(("off", "on"))), polls)).without_auto()
    seen: list[Setting] = []

    def note(setting: Setting) -> Prediction:
        seen.append(setting)
        return Prediction({"power_w": 1.0, "p99_us": 100.0}, {}, 0.9, 1.0)

    adaptive = space.check({RX_USECS: 2, "nic.adaptive_rx": "on", "app.polls": 0})
    found = explain(make_problem(space), adaptive, note)
    assert found is not None
    assert [(a.knob, a.value) for a in found.alternatives] == [("nic.adaptive_rx", "off")]
    seen.clear()
    explain(make_problem(space), space.check({RX_USECS: 6, "nic.adaptive_rx": "off", "app.polls": 0}), note)
    assert all(space.check(setting) == setting for setting in seen)
    assert [s[RX_USECS] for s in seen] == [6, 4, 8, 2]


def test_each_knob_is_moved_alone() -> None:
    setting: Setting = {RX_USECS: 100, FREQ_MHZ: 1700}
    found = explain(PROBLEM, setting, predict)
    assert found is not None
    assert found.prediction == predict(setting)
    assert [(a.knob, a.move, a.value) for a in found.alternatives] == [
        (RX_USECS, "lower", 98),
        (RX_USECS, "higher", 102),
        (RX_USECS, "fastest", 2),
        (FREQ_MHZ, "lower", 1600),
        (FREQ_MHZ, "higher", 1800),
        (FREQ_MHZ, "fastest", 2900),
    ]
    assert all(a.prediction == predict({**setting, a.knob: a.value}) for a in found.alternatives)


def test_what_is_at_the_end_of_its_range_or_between_two_values_has_the_neighbours_that_there_are() -> None:
    found = explain(PROBLEM, {RX_USECS: 2, FREQ_MHZ: 2850.5}, predict)
    assert found is not None
    assert [(a.knob, a.move, a.value) for a in found.alternatives] == [
        (RX_USECS, "higher", 4),
        (FREQ_MHZ, "lower", 2800),
        (FREQ_MHZ, "higher", 2900),
    ]


def test_a_knob_that_is_left_alone_has_no_neighbours_but_the_fastest() -> None:
    found = explain(PROBLEM, {RX_USECS: AUTO, FREQ_MHZ: 2900}, lambda _: predict({RX_USECS: 0, FREQ_MHZ: 1}))
    assert found is not None
    assert [(a.knob, a.move) for a in found.alternatives] == [(RX_USECS, "fastest"), (FREQ_MHZ, "lower")]


def test_without_a_model_there_is_no_explanation() -> None:
    assert explain(PROBLEM, {RX_USECS: 100, FREQ_MHZ: 1700}, lambda _: None) is None
