from __future__ import annotations

from dataclasses import replace

import pytest

from bayop.control.foresight import expected_by, foresee, median_of
from bayop.objective import Objective
from bayop.optimize import make_optimizer
from bayop.optimize.base import Observation, Prediction, Problem
from bayop.search import run_search
from bayop.slo import Slo
from bayop.testing.fakes import FakeServer, papers_space

SLO = Slo.parse("p99<300us")
PROBLEM = Problem(papers_space(), SLO, Objective.parse("power", SLO), qps=4e5)


def test_a_search_played_against_the_truth_finds_what_a_search_finds() -> None:
    server = FakeServer(PROBLEM.space, qps=4e5, noise=0.0)
    found = run_search(server, PROBLEM, make_optimizer("grey-box", PROBLEM, seed=0), max_trials=15)

    def expect(setting: object) -> object:
        server.apply(setting)  # type: ignore[arg-type]
        return server.measure()

    played = foresee(PROBLEM, expect, max_trials=15, seed=0)  # type: ignore[arg-type]
    assert played.setting == found.setting
    assert (played.first, played.trials) == (found.trials[0].setting, len(found.trials))


def test_where_the_default_is_best_it_stays() -> None:
    server = FakeServer(PROBLEM.space, qps=4e5, noise=0.0)
    cheap = replace(server.baseline(), quantities={"power_w": 1.0, "p99_us": 100.0})
    known = [Observation(s, server.measure(), 4e5) for s in [server.apply({"nic.rx_usecs": 2, "cpu.freq_mhz": 2900})]]
    problem = replace(PROBLEM, history=known, default=cheap)
    model = make_optimizer("grey-box", problem, seed=0)
    assert foresee(problem, expected_by(model), max_trials=3, seed=0).setting is None


def test_an_optimizer_without_a_model_expects_nothing() -> None:
    with pytest.raises(TypeError, match="no model"):
        expected_by(make_optimizer("random", PROBLEM, seed=0))({})


def test_the_expected_window_has_the_energy_of_a_second() -> None:
    window = median_of(Prediction({"power_w": 50.0, "p99_us": 200.0}, {}, 0.9, 50.0))
    assert (window["energy_j"], window["duration_s"], window["p99_us"]) == (50.0, 1.0, 200.0)
