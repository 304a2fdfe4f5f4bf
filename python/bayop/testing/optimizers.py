"""The contract that every optimizer keeps, as tests to inherit.

In a plug-in's tests::

    from bayop.testing.optimizers import OptimizerContract

    class TestMine(OptimizerContract):
        def make(self, problem, *, seed):
            return MyOptimizer(problem, seed=seed)
"""

# ruff: noqa: S101 -- assertions are what a contract suite is made of

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from bayop.measurement import Measurement
from bayop.optimize.base import Finished, Observation, Optimizer, Problem
from bayop.space import FREQ_MHZ, RX_USECS, Setting
from bayop.testing.fakes import FakeServer, awkward_spaces, make_problem, papers_space

_OBJECTIVES = ("power", "rp", "latency", "edp", "power_w * max(p99_us / 150us, 1)^2", "utilization")
_REASONS = ("converged", "infeasible", "exhausted")


class OptimizerContract(ABC):
    """Inherit, name the class `Test...`, and say how to make the optimizer.

    Attributes:
        trials: How long each search is. Fewer make slow optimizers bearable; more than the number of random
            starting points, or the model is never tested.
    """

    trials: ClassVar[int] = 8

    @abstractmethod
    def make(self, problem: Problem, *, seed: int) -> Optimizer:
        """A fresh optimizer."""

    # The space

    @pytest.mark.parametrize("name", awkward_spaces())
    def test_searches_any_space(self, name: str) -> None:
        """It asks for settings of the space only, and its incumbent is always a setting that was told."""
        problem = make_problem(awkward_spaces()[name])
        run(self.make(problem, seed=1), problem, FakeServer(problem.space), self.trials)

    def test_one_point_is_tried_and_the_search_ends(self) -> None:
        """There is nothing to search in a space with one setting, and no reason to try it for ever."""
        problem = make_problem(awkward_spaces()["one point"])
        observations, finished = run(self.make(problem, seed=1), problem, FakeServer(problem.space), 40)
        assert 1 <= len(observations) < 40
        assert finished is not None

    # Determinism

    @pytest.mark.parametrize("name", ["papers", "categorical"])
    def test_the_seed_decides_everything(self, name: str) -> None:
        """Two searches from one problem and one seed are the same, whatever the global generator's state."""
        problem = make_problem(awkward_spaces()[name])
        searches = []
        for state in (1, 2):
            np.random.seed(state)  # noqa: NPY002 -- the global generator is what must not matter
            undisturbed = np.random.RandomState(state)
            observations, _ = run(self.make(problem, seed=7), problem, FakeServer(problem.space, seed=5), self.trials)
            assert np.random.random() == undisturbed.random_sample(), "a global generator was used"  # noqa: NPY002
            searches.append([dict(o.setting) for o in observations])
        assert searches[0] == searches[1]

    def test_asking_again_gives_the_same_answer(self) -> None:
        """A question changes nothing: a caller whose trial failed may ask again."""
        problem = make_problem(papers_space())
        server, optimizer = FakeServer(problem.space), self.make(problem, seed=3)
        for trials_left in range(self.trials, 0, -1):
            first, second = optimizer.ask(trials_left), optimizer.ask(trials_left)
            assert first == second
            if isinstance(first, Finished):
                break
            optimizer.tell(server.observe(first.setting))

    # Feasibility

    def test_nothing_is_held_when_nothing_meets_the_slo(self) -> None:
        """An SLO out of reach: it may go on or end, but it never has an incumbent."""
        problem = make_problem(papers_space(), slo="p99<1us")
        observations, finished = run(self.make(problem, seed=1), problem, FakeServer(problem.space), self.trials)
        assert observations, "it takes at least one trial to know"
        assert finished is None or finished.reason in {"infeasible", "exhausted"}

    def test_what_is_held_truly_meets_the_slo(self) -> None:
        """One lucky measurement must not hold a setting that is far over the SLO."""
        problem = make_problem(papers_space(), slo="p99<250us")
        server = FakeServer(problem.space)
        optimizer = self.make(problem, seed=2)
        run(optimizer, problem, server, 2 * self.trials)
        incumbent = optimizer.incumbent()
        assert incumbent is None or server.truth(incumbent)["p99_us"] < 1.1 * 250

    def test_what_is_held_truly_meets_every_limit(self) -> None:
        """Of two limits, the one that is out of reach where the other alone would end."""
        problem = make_problem(papers_space(), slo="p99<400us,p50<80us")
        server = FakeServer(problem.space)
        optimizer = self.make(problem, seed=2)
        observations, _ = run(optimizer, problem, server, 2 * self.trials)
        assert any(o.measurement["p50_us"] < 80 for o in observations)
        incumbent = optimizer.incumbent()
        assert incumbent is None or server.truth(incumbent)["p50_us"] < 1.1 * 80

    @pytest.mark.parametrize("objective", _OBJECTIVES)
    def test_minimises_any_objective(self, objective: str) -> None:
        """Built-in objectives and the user's own; one without a constraint has an incumbent from the first trial on."""
        problem = make_problem(papers_space(), slo="p99<400us", objective=objective)
        optimizer = self.make(problem, seed=1)
        observations, _ = run(optimizer, problem, FakeServer(problem.space), self.trials)
        assert observations
        if not problem.objective.constrained:
            assert optimizer.incumbent() is not None

    # What it is told

    def test_holds_nothing_before_the_first_trial(self) -> None:
        """Knowing nothing, the operating system's default is the thing to hold."""
        optimizer = self.make(make_problem(papers_space()), seed=1)
        assert optimizer.incumbent() is None
        optimizer.ask(self.trials)
        assert optimizer.incumbent() is None

    def test_works_without_utilization(self) -> None:
        """Not every target measures it, and published studies often lack it."""
        problem = make_problem(papers_space())
        server = FakeServer(problem.space, without=frozenset({"utilization", "p50_us", "p90_us"}))
        observations, _ = run(self.make(problem, seed=1), problem, server, self.trials)
        assert observations

    def test_works_with_a_quantity_that_comes_and_goes(self) -> None:
        """A sensor may miss a window."""
        problem = make_problem(papers_space())
        whole, partial = FakeServer(problem.space), FakeServer(problem.space, without=frozenset({"utilization"}))
        optimizer = self.make(problem, seed=1)
        for trials_left in range(self.trials, 0, -1):
            answer = optimizer.ask(trials_left)
            if isinstance(answer, Finished):
                break
            optimizer.tell((partial if trials_left % 2 else whole).observe(answer.setting))

    def test_works_without_noise(self) -> None:
        """Measurements that are exact, and don't say how uncertain they are."""
        problem = make_problem(papers_space())
        observations, _ = run(self.make(problem, seed=1), problem, FakeServer(problem.space, noise=0.0), self.trials)
        assert observations

    def test_works_when_nothing_responds(self) -> None:
        """A server that measures the same whatever is applied."""
        problem = make_problem(papers_space())
        constant = Measurement({"power_w": 100.0, "energy_j": 2000.0, "p99_us": 120.0, "utilization": 0.3})
        optimizer = self.make(problem, seed=1)
        for trials_left in range(self.trials, 0, -1):
            answer = optimizer.ask(trials_left)
            if isinstance(answer, Finished):
                break
            optimizer.tell(Observation(answer.setting, constant, problem.qps))
        assert optimizer.incumbent() is not None

    def test_takes_trials_that_it_did_not_ask_for(self) -> None:
        """Before the first ask, between ask and tell, and the same setting twice."""
        problem = make_problem(papers_space(), slo="p99<400us")
        server, optimizer = FakeServer(problem.space), self.make(problem, seed=1)
        fast: Setting = {RX_USECS: 2, FREQ_MHZ: 2900}
        observations = [server.observe(fast)]
        optimizer.tell(observations[0])
        assert dict(optimizer.incumbent() or {}) == dict(fast)
        for trials_left in range(self.trials, 0, -1):
            answer = optimizer.ask(trials_left)
            if isinstance(answer, Finished):
                break
            settings = [fast] if trials_left % 2 else [{RX_USECS: 100, FREQ_MHZ: 2000}, answer.setting]
            for setting in settings:
                observations.append(server.observe(setting))
                optimizer.tell(observations[-1])
            check_incumbent(optimizer, observations)

    def test_survives_a_driver_that_rounds(self) -> None:
        """What is in effect is not what was asked: this driver knows three delays."""
        problem = make_problem(papers_space(), slo="p99<400us")
        server, optimizer = FakeServer(problem.space), self.make(problem, seed=1)
        observations: list[Observation] = []
        for trials_left in range(self.trials, 0, -1):
            answer = optimizer.ask(trials_left)
            if isinstance(answer, Finished):
                break
            request = float(answer.setting[RX_USECS])
            nearest = min((2, 50, 100), key=lambda delay: abs(delay - request))
            observations.append(server.observe({**answer.setting, RX_USECS: nearest}))
            optimizer.tell(observations[-1])
            check_incumbent(optimizer, observations)

    def test_takes_a_history_of_other_loads(self) -> None:
        """What was seen before may help; it is no trial of this search, so it can't be the incumbent."""
        space = papers_space()
        history: list[Observation] = []
        for qps in (200_000.0, 300_000.0):
            earlier = FakeServer(space, qps=qps, seed=int(qps))
            history += [earlier.observe({RX_USECS: d, FREQ_MHZ: f}) for d in (2, 200, 400) for f in (1300, 2900)]
        problem = replace(make_problem(space), history=tuple(history))
        optimizer = self.make(problem, seed=1)
        assert optimizer.incumbent() is None
        run(optimizer, problem, FakeServer(space), self.trials)
        assert problem.history == tuple(history), "the caller's history was changed"

    def test_never_holds_what_was_censored(self) -> None:
        """A window that was cut short shows a little power and a lower bound of the latency: neither is a promise."""
        problem = make_problem(papers_space(), slo="p99<400us")
        server, optimizer = FakeServer(problem.space), self.make(problem, seed=1)
        observations: list[Observation] = []
        for trials_left in range(2 * self.trials, 0, -1):
            answer = optimizer.ask(trials_left)
            if isinstance(answer, Finished):
                break
            observations.append(server.observe(answer.setting))
            if float(answer.setting[RX_USECS]) > 100:
                cut_short = Measurement({"power_w": 0.1, "energy_j": 0.1, "p99_us": 10.0}, cut_short="harm")
                observations[-1] = replace(observations[-1], measurement=cut_short)
            optimizer.tell(observations[-1])
            incumbent = optimizer.incumbent()
            assert incumbent is None or float(incumbent[RX_USECS]) <= 100
            check_prediction(optimizer, answer.setting)

    def test_takes_a_search_of_which_every_trial_is_censored(self) -> None:
        """Nothing is known but that nothing works."""
        problem = make_problem(papers_space())
        optimizer = self.make(problem, seed=1)
        for trials_left in range(self.trials, 0, -1):
            answer = optimizer.ask(trials_left)
            if isinstance(answer, Finished):
                break
            window = Measurement({"power_w": 9.0, "p99_us": 3000.0}, cut_short="harm")
            optimizer.tell(Observation(answer.setting, window, problem.qps))
            assert optimizer.incumbent() is None

    def test_accepts_a_budget_of_one_trial(self) -> None:
        """The least that a search may have."""
        problem = make_problem(papers_space(), slo="p99<400us")
        run(self.make(problem, seed=1), problem, FakeServer(problem.space), 1)


def run(
    optimizer: Optimizer, problem: Problem, server: FakeServer, trials: int
) -> tuple[Sequence[Observation], Finished | None]:
    """One search of at most `trials` trials, checked at every step; what was told, and how it ended."""
    observations: list[Observation] = []
    for trials_left in range(trials, 0, -1):
        answer = optimizer.ask(trials_left)
        if isinstance(answer, Finished):
            assert answer.reason in _REASONS
            return observations, answer
        assert dict(problem.space.check(answer.setting)) == dict(answer.setting)
        observations.append(server.observe(answer.setting))
        optimizer.tell(observations[-1])
        check_incumbent(optimizer, observations)
        if problem.objective.constrained and problem.slo.limit_us <= 1.0:
            assert optimizer.incumbent() is None, "nothing meets this SLO"
        check_prediction(optimizer, answer.setting)
    return observations, None


def check_incumbent(optimizer: Optimizer, observations: Sequence[Observation]) -> None:
    """The incumbent is one of the settings that were told, and asking for it has no effect on it."""
    incumbent = optimizer.incumbent()
    assert incumbent is None or any(dict(incumbent) == dict(o.setting) for o in observations)
    assert incumbent == optimizer.incumbent()


def check_prediction(optimizer: Optimizer, setting: Setting) -> None:
    """A prediction, where there is one, has finite positive medians and a probability."""
    prediction = optimizer.predict(setting)
    if prediction is None:
        return
    assert prediction.quantities
    assert all(math.isfinite(v) and v > 0 for v in prediction.quantities.values())
    assert all(math.isfinite(v) and v >= 0 for v in prediction.relative_sd.values())
    assert 0.0 <= prediction.slo_probability <= 1.0
