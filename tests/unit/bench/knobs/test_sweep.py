"""Sweeps are as large as asked for, and hold the best setting that there is."""

from __future__ import annotations

import math

import pytest
from bench.generality.servers import draw_case
from bench.knobs import servers
from bench.knobs.cost import Bowl

from bayop.optimize.measured import space_size
from bayop.space import FREQ_MHZ, RX_USECS, fastest_setting


@pytest.mark.parametrize("seed", [0, 3, 17])
def test_a_sweep_has_the_settings_that_it_must_have_at_least(seed: int) -> None:
    space = servers.server_space(draw_case(seed))
    assert set(space.ids) == {RX_USECS, FREQ_MHZ, *servers.KNOBS}
    settings = servers.sweep_settings(space, 3000)
    assert 3000 <= len(settings) < 6000
    assert len({tuple(s.values()) for s in settings}) == len(settings)
    assert all(space.check(s) for s in settings[::100])
    assert dict(fastest_setting(space)) in settings


def test_a_sweep_of_more_settings_than_there_are_has_all_of_them() -> None:
    space = servers.server_space(draw_case(3))
    assert len(servers.sweep_settings(space, 10**9)) == space_size(space)


def test_the_best_of_a_sweep_meets_the_slo_for_the_least() -> None:
    case = draw_case(3)
    settings = servers.sweep_settings(servers.server_space(case), 3000)[::300]
    truths = [servers.truth(case, s) for s in settings]
    feasible = [power_w for power_w, p99_us in truths if p99_us < case.slo.limit_us]
    best_w = servers.best_of_sweep(case, settings)
    assert len(feasible) < len(settings)
    assert best_w == min(feasible)
    best = settings[[power_w for power_w, _ in truths].index(best_w)]
    assert servers.regret_pct(case, best, best_w) == 0.0
    assert servers.regret_pct(case, None, best_w) == 100.0


def test_the_cost_is_of_a_server_with_a_best_setting_inside() -> None:
    bowl = Bowl(8)
    assert len(bowl.space.knobs) == 8
    fastest = bowl.measure()
    middle = {knob.id: knob.numbers()[len(knob.numbers()) // 2] for knob in bowl.space.knobs}
    bowl.apply(middle)
    assert bowl.measure()["power_w"] < 0.6 * fastest["power_w"]
    assert bowl.measure()["p99_us"] == pytest.approx(100.0 * math.exp(2.0), rel=0.05)
    bowl.restore()
    assert bowl.measure() == fastest
