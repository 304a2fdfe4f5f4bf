from __future__ import annotations

import math

import pytest

from bayop.measurement import Measurement
from bayop.optimize import make_optimizer
from bayop.optimize.base import Observation
from bayop.optimize.measured import best_measured, space_size
from bayop.search import run_search
from bayop.space import FREQ_MHZ, RX_USECS, Setting
from bayop.testing.fakes import FakeServer, awkward_spaces, make_problem, papers_space

PROBLEM = make_problem(papers_space(), slo="p99<200us")


def observe(delay: float, power_w: float, p99_us: float) -> Observation:
    setting: Setting = {RX_USECS: delay, FREQ_MHZ: 2900}
    return Observation(setting, Measurement({"power_w": power_w, "p99_us": p99_us}), PROBLEM.qps)


def test_nothing_is_best_of_nothing() -> None:
    assert best_measured([], PROBLEM) is None


def test_the_least_objective_that_met_the_slo_is_best() -> None:
    observations = [observe(2, 100, 50), observe(100, 80, 150), observe(300, 60, 300)]
    assert best_measured(observations, PROBLEM) == observations[1].setting


def test_nothing_is_best_when_all_broke_the_slo() -> None:
    assert best_measured([observe(2, 100, 200), observe(100, 80, 300)], PROBLEM) is None


def test_without_a_constraint_the_least_objective_is_best() -> None:
    problem = make_problem(papers_space(), objective="latency")
    observations = [observe(2, 100, 500), observe(100, 80, 300)]
    assert best_measured(observations, problem) == observations[1].setting


def test_repeats_count_with_their_mean() -> None:
    # The lucky window of the first setting is neither its power nor its latency.
    observations = [observe(300, 60, 190), observe(300, 64, 290), observe(100, 80, 150), observe(2, 100, 50)]
    assert best_measured(observations, PROBLEM) == observations[2].setting


def test_a_setting_that_was_ever_cut_short_is_never_best() -> None:
    cut_short = Observation({RX_USECS: 100, FREQ_MHZ: 2900}, Measurement({"power_w": 1}, cut_short="harm"), PROBLEM.qps)
    observations = [observe(2, 100, 50), observe(100, 80, 150), cut_short]
    assert best_measured(observations, PROBLEM) == observations[0].setting


def test_an_objective_that_is_no_number_is_never_best() -> None:
    problem = make_problem(papers_space(), objective="log(p99_us / 1us - 100) * 1W + power_w")
    observations = [observe(2, 100, 50), observe(100, 80, 150)]
    assert math.isnan(problem.objective.of(observations[0].measurement))
    assert best_measured(observations, problem) == observations[1].setting
    assert best_measured(observations[:1], problem) is None


@pytest.mark.parametrize("name", awkward_spaces())
def test_the_size_of_a_space_is_the_number_of_its_settings(name: str) -> None:
    space = awkward_spaces()[name]
    assert space_size(space) == len(space.settings())


@pytest.mark.parametrize("optimizer", ["grid", "random"])
def test_holds_nothing_that_serves_less_than_is_asked_for(optimizer: str) -> None:
    server = FakeServer(papers_space(), qps=1e6)
    problem = make_problem(papers_space(), slo="p99<1s,qps>0.98Mqps", qps=1e6)
    result = run_search(server, problem, make_optimizer(optimizer, problem, seed=0), max_trials=15)
    assert any(trial.measurement["qps"] < 0.98e6 for trial in result.trials)
    assert result.setting is not None
    assert server.truth(result.setting)["qps"] >= 0.98e6
