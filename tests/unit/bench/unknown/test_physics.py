"""The queues are those of the books, and what is drawn stays physical."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from bench.unknown.distortions import LATENCY, Bump, Cliff, Distortion, Drowning, Field, Ripple
from bench.unknown.drawing import draw_server
from bench.unknown.physics import Answer, Discipline, erlang_c, slack
from bench.unknown.servers import Server
from bench.unknown.traits import POPULATION
from hypothesis import given
from hypothesis import strategies as st

LOADS = np.array([0.05, 0.3, 0.7, 0.95])
SHARES = np.linspace(0.0, 1.0, 41)


def along_frequency(server: Server, delay_us: float) -> Answer:
    x = np.linspace(server.physics.least_x, 1.0, 30)
    return server.physics.at(np.full(30, delay_us), x)


def test_one_server_waits_as_often_as_it_is_busy() -> None:
    assert erlang_c(1, LOADS) == pytest.approx(LOADS)


def test_two_servers_wait_as_the_books_say() -> None:
    assert erlang_c(2, LOADS) == pytest.approx(2.0 * LOADS**2 / (1.0 + LOADS))


def test_more_servers_wait_less_often() -> None:
    chances = [erlang_c(servers, LOADS) for servers in (1, 2, 8, 64)]
    assert all(np.all(more < fewer) for fewer, more in pairwise(chances))


def test_slack_is_what_is_free_and_stays_positive() -> None:
    assert slack(np.array([0.2])) == pytest.approx(0.8, rel=1e-3)
    assert np.all(slack(np.array([1.0, 1.5, 10.0])) > 0.0)


@given(st.integers(0, 400), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_every_setting_of_every_server_has_possible_numbers(number: int, delay: float, frequency: float) -> None:
    physics = draw_server(POPULATION, number).physics
    x = physics.least_x + frequency * (1.0 - physics.least_x)
    answer = physics.at(np.array([delay * physics.span_us]), np.array([x]))
    assert 0.0 < answer.utilization[0] <= 1.0
    assert 0.0 < answer.p99_us[0] < np.inf
    assert answer.power_w[0] > physics.power.static_w * 0.5


@given(st.integers(0, 400), st.floats(0.0, 1.0))
def test_where_nothing_distorts_it_latency_falls_with_frequency(number: int, delay: float) -> None:
    server = draw_server("as the prior expects", number)
    answer = along_frequency(server, delay * server.physics.span_us)
    assert np.all(np.diff(answer.p99_us) < 0.0)
    assert np.all(np.diff(answer.utilization) <= 0.0)


@pytest.mark.parametrize("discipline", list(Discipline))
def test_an_overloaded_server_is_far_slower(discipline: Discipline) -> None:
    physics = draw_server("as the prior expects", 0).physics
    physics = replace(physics, queueing=replace(physics.queueing, discipline=discipline))
    capacity = physics.per_us / float(
        physics.queueing.bottleneck(physics.per_us, physics.work.core_us(np.ones(1), np.zeros(1)))[0]
    )
    idle, busy, over = (
        float(replace(physics, per_us=share * capacity).at(np.zeros(1), np.ones(1)).p99_us[0])
        for share in (0.3, 0.9, 1.3)
    )
    assert idle < busy < over / 3.0


def test_many_cores_behind_one_queue_take_more_load_than_behind_their_own() -> None:
    physics = draw_server("as the prior expects", 0).physics
    waits = []
    for discipline in (Discipline.ONE_QUEUE, Discipline.MANY_QUEUES):
        queueing = replace(physics.queueing, discipline=discipline, cores=16)
        waits.append(float(queueing.wait_us(np.array([0.9]), np.array([10.0]))[0]))
    assert waits[0] < waits[1] / 5.0


def test_a_pool_saturates_with_idle_cores() -> None:
    physics = draw_server("as the prior expects", 0).physics
    pool = replace(physics.queueing, discipline=Discipline.POOL, cores=16, threads=16, blocked_us=30.0)
    core_us = np.array([10.0])
    assert pool.bottleneck(0.4, core_us)[0] == pytest.approx(1.0)
    assert pool.utilization(0.4, core_us)[0] == pytest.approx(0.25)


def test_a_cliff_shows_in_latency_alone() -> None:
    factors = Cliff(np.log(20.0), delay=0.5, frequency=0.3, width=0.02)(SHARES, np.ones(41))
    assert np.count_nonzero(factors) == np.count_nonzero(factors[LATENCY])
    assert np.exp(factors[LATENCY, 0]) == pytest.approx(1.0)
    assert np.exp(factors[LATENCY, -1]) == pytest.approx(20.0)


def test_drowning_ends_with_longer_delays() -> None:
    drowned = Drowning(1.0, delay=0.2, steepness=3.0, shown=0.1)(SHARES, np.ones(41))[LATENCY]
    assert np.all(np.diff(drowned) < 0.0)
    assert drowned[0] == pytest.approx(1.0)
    assert drowned[-1] < 0.01


@pytest.mark.parametrize(
    "distortion",
    [
        Field(np.ones(3), np.zeros(3), np.ones((3, 2, 2)), np.zeros((3, 2))),
        Bump(0.5, 0.5, 0.1),
        Ripple(0.05, (2.0, 1.5), (0.0, 1.0)),
    ],
)
def test_distortions_make_a_quantity_go_up_and_down(distortion: Distortion) -> None:
    moves = np.sign(np.diff(distortion(SHARES, SHARES), axis=1))
    assert np.any((moves.min(axis=1) < 0) & (moves.max(axis=1) > 0))
