from __future__ import annotations

from dataclasses import replace

import pytest

from bayop.measurement import Measurement
from bayop.optimize.base import Finished, Observation, Problem, Proposal
from bayop.optimize.grey_box import GreyBox
from bayop.optimize.grey_box.search import Caution
from bayop.search import Result, run_search
from bayop.space import AUTO, FREQ_MHZ, RX_USECS, Knob, Setting, Space, Steps, fastest_setting
from bayop.testing.fakes import FakeServer, make_problem, papers_space

SPACE = papers_space()


def search(server: FakeServer, problem: Problem, *, max_trials: int = 15, **options: object) -> Result:
    return run_search(server, problem, GreyBox(problem, **options), max_trials=max_trials)  # type: ignore[arg-type]


def best_power_w(server: FakeServer, problem: Problem) -> float:
    truths = [server.truth(s) for s in problem.space.settings()]
    return min(t["power_w"] for t in truths if problem.slo.met_by(t[problem.slo.quantity]))


@pytest.mark.parametrize("qps", [100_000.0, 400_000.0, 700_000.0])
@pytest.mark.parametrize("slo", ["p99<150us", "p99<400us", "p90<300us"])
def test_finds_the_sweet_spot_in_a_handful_of_trials(qps: float, slo: str) -> None:
    server = FakeServer(SPACE, qps=qps, seed=1)
    problem = make_problem(SPACE, slo=slo, qps=qps)
    result = search(server, problem)
    assert result.setting is not None
    assert len(result.trials) <= 9
    truth = server.truth(result.setting)
    assert truth[problem.slo.quantity] < 1.02 * problem.slo.limit_us
    assert truth["power_w"] < 1.04 * best_power_w(server, problem)


def test_starts_with_the_fastest_setting_and_grows_outwards() -> None:
    server = FakeServer(SPACE, seed=2)
    result = search(server, make_problem(SPACE, slo="p99<300us"))
    assert dict(result.trials[0].setting) == {RX_USECS: 2, FREQ_MHZ: 2900}
    assert sum(not t.meets_slo for t in result.trials) <= 1


def test_what_was_learned_at_two_loads_is_the_prior_at_a_third() -> None:
    history: list[Observation] = []
    for qps in (200_000.0, 600_000.0):
        problem = make_problem(SPACE, slo="p99<300us", qps=qps)
        result = search(FakeServer(SPACE, qps=qps, seed=3), problem)
        history += [Observation(t.setting, t.measurement, qps) for t in result.trials]
    plain = make_problem(SPACE, slo="p99<300us", qps=400_000.0)
    warm = Problem(SPACE, plain.slo, plain.objective, plain.qps, history=history)
    server = FakeServer(SPACE, qps=400_000.0, seed=4)
    result = search(server, warm)
    incumbent = result.trials[min(1, len(result.trials) - 1)].incumbent
    assert incumbent is not None
    assert server.truth(incumbent)["power_w"] < 1.01 * best_power_w(server, warm)


def test_says_so_when_nothing_meets_the_slo() -> None:
    server = FakeServer(SPACE, seed=5)
    result = search(server, make_problem(SPACE, slo="p99<15us"))
    assert result.setting is None
    assert result.stopped == "infeasible"
    assert len(result.trials) <= 6
    assert server.setting is None


def test_does_without_utilization() -> None:
    server = FakeServer(SPACE, seed=6, without=frozenset({"utilization"}))
    problem = make_problem(SPACE, slo="p99<300us")
    result = search(server, problem)
    assert result.setting is not None
    assert server.truth(result.setting)["power_w"] < 1.03 * best_power_w(server, problem)


def test_searches_a_knob_that_no_prior_knows() -> None:
    cap = Knob("power.cap_w", Steps(60, 130, 10))
    space = Space((*SPACE.knobs, cap))
    server = FakeServer(space, seed=7)
    problem = make_problem(space, slo="p99<300us")
    result = search(server, problem, max_trials=20)
    assert result.setting is not None
    assert len({t.setting["power.cap_w"] for t in result.trials}) > 1
    assert server.truth(result.setting)["power_w"] < 1.05 * best_power_w(server, problem)


def test_without_a_prior_it_is_plain_constrained_optimization() -> None:
    server = FakeServer(SPACE, seed=8)
    problem = make_problem(SPACE, slo="p99<300us")
    result = search(server, problem, max_trials=30, use_prior=False)
    assert result.setting is not None
    assert server.truth(result.setting)["power_w"] < 1.1 * best_power_w(server, problem)


def test_auto_is_a_value_among_others() -> None:
    space = papers_space(auto=True)
    server = FakeServer(space, seed=9)
    result = search(server, make_problem(space, slo="p99<300us"))
    assert result.setting is not None
    assert server.truth(result.setting)["p99_us"] < 306.0


def test_one_knob_alone_leaves_the_rest_to_the_operating_system() -> None:
    server = FakeServer(papers_space(auto=True), seed=10)
    space = server.space.only([FREQ_MHZ])
    problem = make_problem(space, slo="p99<300us")
    result = search(server, problem)
    assert {t.setting[RX_USECS] for t in result.trials} == {AUTO}
    assert result.setting is not None
    assert server.truth(result.setting)["power_w"] < 1.02 * best_power_w(server, problem)


def test_an_expression_is_minimised() -> None:
    server = FakeServer(SPACE, seed=11)
    problem = make_problem(SPACE, slo="p99<400us", objective="power_w * p99_us")
    result = search(server, problem)
    assert result.setting is not None

    def value(setting: Setting) -> float:
        truth = server.truth(setting)
        return truth["power_w"] * truth["p99_us"]

    best = min(value(s) for s in SPACE.settings() if server.truth(s)["p99_us"] < 400.0)
    assert value(result.setting) < 1.05 * best


def test_latency_alone_ignores_power() -> None:
    server = FakeServer(SPACE, seed=12)
    result = search(server, make_problem(SPACE, objective="latency"))
    assert result.setting is not None
    best = min(server.truth(s)["p99_us"] for s in SPACE.settings())
    assert server.truth(result.setting)["p99_us"] < 1.05 * best


def test_a_noisy_measurement_that_meets_the_slo_by_a_hair_is_not_trusted() -> None:
    problem = make_problem(SPACE, slo="p99<300us")
    server = FakeServer(SPACE, noise=0.0)
    optimizer = GreyBox(problem)
    truth = server.observe({RX_USECS: 2, FREQ_MHZ: 2900})
    hair = dict(truth.measurement.quantities) | {"p99_us": 299.9}
    measurement = type(truth.measurement)(hair, relative_sd={"p99_us": 0.05})
    optimizer.tell(Observation(truth.setting, measurement, problem.qps))
    assert optimizer.incumbent() is None
    assert isinstance(optimizer.ask(10), Proposal)


def test_risk_is_taken_back_in_the_last_trials() -> None:
    problem = make_problem(SPACE, slo="p99<200us")
    server = FakeServer(SPACE, seed=13)
    daring = GreyBox(problem, caution=Caution(trial=0.3, last_trials=0.99))
    daring.tell(server.observe(fastest_setting(SPACE)))

    def safety(trials_left: int) -> float:
        answer = daring.ask(trials_left)
        assert not isinstance(answer, Finished)
        prediction = daring.predict(answer.setting)
        assert prediction is not None
        return prediction.slo_probability

    assert safety(1) >= 0.99 > safety(10) >= 0.3


def test_a_trial_that_missed_the_slo_makes_the_search_more_careful() -> None:
    problem = make_problem(SPACE, slo="p99<200us")
    server = FakeServer(SPACE, seed=14)
    fast, slow = server.observe(fastest_setting(SPACE)), server.observe({RX_USECS: 400, FREQ_MHZ: 2900})

    def safety(optimizer: GreyBox) -> float:
        optimizer.tell(fast)
        optimizer.tell(slow)
        answer = optimizer.ask(10)
        assert not isinstance(answer, Finished)
        prediction = optimizer.predict(answer.setting)
        assert prediction is not None
        return prediction.slo_probability

    assert not problem.slo.met_by(slow.measurement["p99_us"])
    careless = safety(GreyBox(problem, caution=Caution(trial=0.2, after_miss=1.0)))
    careful = safety(GreyBox(problem, caution=Caution(trial=0.2, after_miss=0.001)))
    assert careful >= 0.999 > careless


def test_headroom_keeps_a_distance_to_the_limit() -> None:
    server = FakeServer(SPACE, seed=1)
    problem = replace(make_problem(SPACE, slo="p99<300us"), headroom=0.1)
    result = search(server, problem)
    assert result.setting is not None
    assert server.truth(result.setting)["p99_us"] < 1.02 * 270.0
    # Judged by the SLO: what lies between is no breach.
    assert all(t.meets_slo == (t.measurement["p99_us"] < 300.0) for t in result.trials)


@pytest.mark.parametrize("seed", range(5))
def test_small_steps_go_half_way_to_the_limit_at_most(seed: int) -> None:
    server = FakeServer(SPACE, qps=200_000.0, noise=0.0, seed=seed)
    problem = replace(make_problem(SPACE, slo="p99<500us", qps=200_000.0), small_steps=True)
    latencies = [t.measurement["p99_us"] for t in search(server, problem).trials]
    for number in (1, 2, 3):
        assert latencies[number] < 1.05 * (max(latencies[:number]) + 500.0) / 2.0


def test_small_steps_are_small_where_no_prior_knows_the_knob() -> None:
    timeout = Knob("napi.gro_flush_timeout_us", Steps(0, 400, 10), safest="low")
    problem = make_problem(Space((timeout,)), slo="p90<500us")

    def second(problem: Problem) -> float:
        optimizer = GreyBox(problem)
        window = Measurement({"power_w": 33.0, "p90_us": 147.0, "utilization": 0.4})
        optimizer.tell(Observation({timeout.id: 0}, window, problem.qps))
        answer = optimizer.ask(14)
        assert isinstance(answer, Proposal)
        return float(answer.setting[timeout.id])

    assert second(problem) > 300
    assert second(replace(problem, small_steps=True)) < 200


def test_a_search_with_small_steps_ends_where_one_without_does() -> None:
    server = FakeServer(SPACE, qps=400_000.0, seed=3)
    problem = make_problem(SPACE, slo="p99<400us")
    small = search(server, replace(problem, small_steps=True))
    assert small.setting is not None
    assert small.stopped == "converged"
    assert server.truth(small.setting)["power_w"] < 1.04 * best_power_w(server, problem)
