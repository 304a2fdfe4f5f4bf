"""The promise: a class that a server is not of costs its search no more than noise."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.prior.classes import drawn_lesson, nonsense
from bench.prior.play import Outcome, Play, play
from bench.prior.run import published
from bench.prior.table import NOTHING, summarise

from bayop.optimize.grey_box.learn import learn
from bayop.optimize.server_class import ServerClass


def drawn(scenario: str, known: str, server_class: ServerClass | None) -> list[Outcome]:
    return [play(Play(scenario, number, number, known, server_class)) for number in range(20)]


def test_of_another_service(data: Path) -> None:
    plays = [p for p in published(data, seeds=2) if p.known in (NOTHING, "the other service", "nonsense")]
    _, other, wrong = summarise(map(play, plays))
    for row in (other, wrong):
        assert row.regret_change.mean < 0.3
        assert row.over_change.mean < 0.15
        assert abs(row.trials_change.mean) < 0.7


@pytest.mark.slow
def test_nonsense_on_servers_of_an_unknown_physics() -> None:
    scenario = "as the prior expects"
    _, wrong = summarise([*drawn(scenario, NOTHING, None), *drawn(scenario, "nonsense", nonsense())])
    assert wrong.regret_change.mean < 2.0 * wrong.regret_change.error + 0.1
    assert wrong.over_change.mean < 0.1


def test_the_right_class_saves_trials() -> None:
    scenario = "as the prior expects"
    lessons = [taught for number in range(1000, 1020) if (taught := drawn_lesson(scenario, number)) is not None]
    _, right = summarise([*drawn(scenario, NOTHING, None), *drawn(scenario, "its own", learn(lessons))])
    assert right.trials_change.mean < 0.0
    assert right.over_change.mean <= 0.0
