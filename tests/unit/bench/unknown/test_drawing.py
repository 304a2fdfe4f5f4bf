"""Every scenario's servers have what its name says, and nothing is drawn twice differently."""

from __future__ import annotations

import math

import numpy as np
import pytest
from bench.unknown.drawing import draw_server
from bench.unknown.physics import Discipline
from bench.unknown.traits import POPULATION, SCENARIOS

from bayop.space import FREQ_MHZ, RX_USECS, default_setting

NUMBERS = range(12)
EVERY = [*SCENARIOS, POPULATION]


@pytest.mark.parametrize("scenario", EVERY)
def test_the_same_number_is_the_same_server(scenario: str) -> None:
    first, second = draw_server(scenario, 3), draw_server(scenario, 3)
    assert first.slo == second.slo
    assert first.default == second.default
    assert np.array_equal(first.sweep.p99_us, second.sweep.p99_us)
    assert draw_server(scenario, 4).slo != first.slo


@pytest.mark.parametrize("scenario", EVERY)
def test_servers_are_of_realistic_sizes(scenario: str) -> None:
    for number in NUMBERS:
        server = draw_server(scenario, number)
        delays, clocks = (server.space[knob].numbers() for knob in (RX_USECS, FREQ_MHZ))
        assert 3 <= len(clocks) <= 30
        assert 30 <= len(delays) <= 511
        assert math.isfinite(server.best_fixed_w)
        if not server.traits.island:
            assert 1.29 < server.slo.limit_us / server.fastest.p99_us < 6.05


def test_the_population_has_every_discipline_and_scale() -> None:
    servers = [draw_server(POPULATION, number) for number in range(60)]
    assert {server.physics.queueing.discipline for server in servers} == set(Discipline)
    scales = [server.fastest.p99_us for server in servers]
    assert min(scales) < 100.0
    assert max(scales) > 100_000.0


def test_the_best_is_that_of_every_setting_in_effect() -> None:
    server = min((draw_server("rounding driver", n) for n in NUMBERS), key=lambda s: len(s.sweep.power_w))
    truths = [server.truth(server.in_effect(setting)) for setting in server.space.without_auto().settings()]
    least = min(t.power_w for t in truths if t.p99_us < server.slo.limit_us)
    assert server.best_fixed_w == pytest.approx(least)
    assert server.fastest == pytest.approx(truths[len(server.space[FREQ_MHZ].numbers()) - 1])


def test_an_island_is_small_and_the_fastest_setting_is_not_on_it() -> None:
    for number in NUMBERS:
        server = draw_server("SLO met on an island only", number)
        assert not server.meets(server.fastest)
        assert 0.0 < np.mean(server.sweep.p99_us < server.slo.limit_us) < 0.16
        assert not server.meets(server.default)


def test_a_better_default_is_20_percent_better() -> None:
    for number in NUMBERS:
        server = draw_server("default 20 % better", number)
        assert server.default_is_best
        assert server.best_w == pytest.approx(0.8 * server.best_fixed_w)
        assert server.truth(default_setting(server.space)) == server.default


def test_a_worse_default_is_no_better_than_the_best() -> None:
    for number in NUMBERS:
        server = draw_server("as the prior expects", number)
        assert not server.default_is_best
        assert server.best_w == server.best_fixed_w


def test_drivers_round_off_the_lattice_and_only_once() -> None:
    server = draw_server("rounding driver", 0)
    settings = server.space.without_auto().settings()
    in_effect = [server.in_effect(setting) for setting in settings]
    assert any(dict(asked) != dict(had) for asked, had in zip(settings, in_effect, strict=True))
    assert all(float(had[RX_USECS]) >= float(asked[RX_USECS]) for asked, had in zip(settings, in_effect, strict=True))
    assert all(float(had[FREQ_MHZ]) <= float(asked[FREQ_MHZ]) for asked, had in zip(settings, in_effect, strict=True))
    assert all(server.in_effect(had) == pytest.approx(dict(had)) for had in in_effect)


@pytest.mark.parametrize(("scenario", "least"), [("residual 40 %", 0.4), ("cliff without warning", 3.0)])
def test_latency_is_distorted_by_what_was_asked_for(scenario: str, least: float) -> None:
    for number in NUMBERS:
        physics = draw_server(scenario, number).physics
        delay, frequency = (axis.ravel() for axis in np.meshgrid(*[np.linspace(0.0, 1.0, 33)] * 2))
        factors = np.exp(sum(distortion(delay, frequency)[1] for distortion in physics.distortions))
        assert max(factors.max(), 1.0 / factors.min()) >= 1.0 + least - 1e-6


def test_on_a_plateau_longer_delays_change_nothing() -> None:
    servers = [draw_server(POPULATION, number) for number in range(40)]
    flat = [s.physics for s in servers if s.traits.plateau and not s.physics.distortions]
    assert flat
    for physics in flat:
        answer = physics.at(physics.span_us * np.array([0.0, 0.7, 1.0]), np.ones(3))
        assert answer.p99_us[0] != answer.p99_us[1] == answer.p99_us[2]


def test_an_unknown_scenario_is_refused() -> None:
    with pytest.raises(KeyError):
        draw_server("calm seas", 0)
