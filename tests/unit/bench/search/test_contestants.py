"""Who searches in the benchmark; BayOp's own optimizers have tests of their own."""

from __future__ import annotations

import sys

import pytest
from bench.search.contestants import CONTESTANTS, OPTUNA, make_contestant
from tests.support.needs import need

from bayop import Objective, Problem, Slo, run_search, study_target
from bayop.errors import UnsupportedError
from bayop.optimize import OPTIMIZERS
from bayop.recorded.target import StudyTarget

SLO = Slo.parse("p99<500us")


@pytest.fixture
def server() -> StudyTarget:
    return study_target("example:memcached", os="linux", qps=600_000, seed=0)


@pytest.fixture
def problem(server: StudyTarget) -> Problem:
    return Problem(server.space, SLO, Objective.parse("power", SLO), server.qps)


def test_the_peer_is_no_optimizer_of_bayop() -> None:
    assert set(CONTESTANTS) - set(OPTIMIZERS) == {OPTUNA}


def test_a_peer_that_is_not_installed_is_missed(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    monkeypatch.delitem(sys.modules, "bench.search.optuna_gp", raising=False)
    with pytest.raises(UnsupportedError, match="Optuna, which optuna-constrained uses, is not installed") as caught:
        make_contestant(OPTUNA, problem, seed=0)
    assert caught.value.hint == "make extras"


def test_optuna_searches_under_the_slo(server: StudyTarget, problem: Problem) -> None:
    need("optuna")
    result = run_search(server, problem, make_contestant(OPTUNA, problem, seed=0), max_trials=15)
    assert (len(result.trials), result.stopped) == (15, "budget")
    assert result.setting is not None
    truths = [server.truth(setting) for setting in problem.space.settings()]
    best_w = min(truth["power_w"] for truth in truths if truth["p99_us"] < SLO.limit_us)
    assert server.truth(result.setting)["power_w"] < 1.1 * best_w
