"""A search is judged by the truth of what it held."""

from __future__ import annotations

import math

import pytest
from bench.unknown.drawing import draw_server
from bench.unknown.play import Play, holds, play, regret_pct
from bench.unknown.servers import Server

from bayop.space import Setting, default_setting, fastest_setting


def cheapest(server: Server) -> Setting:
    settings = server.space.without_auto().settings()
    return min(settings, key=lambda s: server.truth(s).power_w)


def best(server: Server) -> Setting:
    settings = server.space.without_auto().settings()
    feasible = [s for s in settings if server.truth(s).p99_us < server.slo.limit_us]
    return min(feasible, key=lambda s: server.truth(s).power_w)


def test_the_best_has_no_regret_and_a_breach_has_all() -> None:
    server = draw_server("as the prior expects", 1)
    assert regret_pct(server, best(server)) == 0.0
    fastest = fastest_setting(server.space)
    expected = 100.0 * (server.truth(fastest).power_w / server.best_w - 1.0)
    assert regret_pct(server, fastest) == pytest.approx(expected)
    assert not server.meets(server.truth(cheapest(server)))
    assert regret_pct(server, cheapest(server)) == 100.0


def test_the_default_counts_by_what_it_is() -> None:
    better, island = draw_server("default 20 % better", 0), draw_server("SLO met on an island only", 0)
    auto = default_setting(better.space)
    for setting in (None, auto):
        assert holds(better, setting) == "default"
        assert regret_pct(better, setting) == 0.0
    assert (holds(island, None), regret_pct(island, None)) == ("nothing", math.inf)
    assert (holds(island, auto), regret_pct(island, auto)) == ("default", 100.0)
    assert regret_pct(better, best(better)) == pytest.approx(25.0)
    assert holds(better, best(better)) == "fixed"


@pytest.mark.parametrize("optimizer", ["random", "grey-box"])
def test_a_play_counts_its_trials(optimizer: str) -> None:
    outcome = play(Play("as the prior expects", 1, optimizer))
    assert 1 <= outcome.trials <= 15
    assert 0 <= outcome.trials_over <= outcome.trials
    assert (outcome.worst > 1.02) == (outcome.trials_over > 0)
    assert outcome.worst_but_first <= outcome.worst
    assert outcome.holds == "fixed"
    assert outcome.held_w >= outcome.best_w or outcome.held_us > outcome.limit_us


def test_a_play_can_be_repeated() -> None:
    first, second = (play(Play("drift", 0, "random")) for _ in range(2))
    assert (first.held_w, first.trials_over, first.worst) == (second.held_w, second.trials_over, second.worst)
