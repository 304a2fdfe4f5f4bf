from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.optimize.base import Finished, Observation, Optimizer, Prediction, Proposal
from bayop.optimize.random import RandomSearch
from bayop.search import Trial, run_search, tune
from bayop.slo import Slo
from bayop.space import FREQ_MHZ, RX_USECS, Setting
from bayop.testing.fakes import FakeServer, make_problem, papers_space

FAST: Setting = {RX_USECS: 2, FREQ_MHZ: 2900}
SLOW: Setting = {RX_USECS: 400, FREQ_MHZ: 1300}
PROBLEM = make_problem(papers_space())
PREDICTION = Prediction({"power_w": 90.0}, {"power_w": 0.01}, 0.95)


@dataclass
class Scripted(Optimizer):
    """Asks for what it was given, then says `converged`; holds what it is told to hold."""

    asks: list[Setting]
    holds: Setting | None = None
    on_tell: Callable[[], None] = lambda: None
    lefts: list[int] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)

    def ask(self, trials_left: int) -> Proposal | Finished:
        self.lefts.append(trials_left)
        number = len(self.observations)
        return Proposal(self.asks[number]) if number < len(self.asks) else Finished("converged")

    def tell(self, observation: Observation) -> None:
        self.observations.append(observation)
        self.on_tell()

    def incumbent(self) -> Setting | None:
        return self.holds if self.observations else None

    def predict(self, setting: Setting) -> Prediction | None:
        return PREDICTION if setting == self.holds else None


def test_holds_the_incumbent_in_the_end() -> None:
    server, optimizer = FakeServer(PROBLEM.space), Scripted([FAST, SLOW], holds=FAST)
    result = run_search(server, PROBLEM, optimizer, max_trials=9)
    assert result.stopped == "converged"
    assert dict(result.setting or {}) == dict(FAST)
    assert result.prediction is PREDICTION
    assert dict(server.setting or {}) == dict(FAST)
    assert [dict(s) for s in server.applied] == [dict(FAST), dict(SLOW), dict(FAST)]


def test_puts_the_default_back_when_nothing_is_trusted() -> None:
    server = FakeServer(PROBLEM.space)
    result = run_search(server, PROBLEM, Scripted([SLOW], holds=None), max_trials=9)
    assert result.setting is None
    assert result.prediction is None
    assert server.setting is None


def test_ends_at_the_budget_and_says_how_much_is_left() -> None:
    optimizer = Scripted([FAST, SLOW, FAST, SLOW], holds=FAST)
    result = run_search(FakeServer(PROBLEM.space), PROBLEM, optimizer, max_trials=3)
    assert result.stopped == "budget"
    assert len(result.trials) == 3
    assert optimizer.lefts == [3, 2, 1]


def test_a_trial_tells_what_happened() -> None:
    trials: list[Trial] = []
    server = FakeServer(PROBLEM.space, noise=0.0)
    run_search(server, PROBLEM, Scripted([FAST, SLOW], holds=FAST), max_trials=9, on_trial=trials.append)
    first, second = trials
    assert (first.number, second.number) == (1, 2)
    assert dict(second.setting) == dict(SLOW)
    assert second.measurement["p99_us"] == server.truth(SLOW)["p99_us"]
    assert first.meets_slo
    assert not second.meets_slo
    assert second.incumbent == FAST
    assert second.chosen_in_s >= 0.0


class RoundingServer(FakeServer):
    """A driver that knows 2 us only."""

    def apply(self, setting: Setting) -> Setting:
        return super().apply({**setting, RX_USECS: 2})


def test_the_optimizer_is_told_what_is_in_effect() -> None:
    optimizer = Scripted([SLOW], holds=None)
    result = run_search(RoundingServer(PROBLEM.space), PROBLEM, optimizer, max_trials=1)
    assert optimizer.observations[0].setting[RX_USECS] == 2
    assert result.trials[0].setting[RX_USECS] == 2
    assert optimizer.observations[0].qps == PROBLEM.qps


def interrupt() -> None:
    raise KeyboardInterrupt


def fail() -> None:
    raise ZeroDivisionError


def test_ctrl_c_ends_the_search_and_holds_the_incumbent() -> None:
    server, optimizer = FakeServer(PROBLEM.space), Scripted([FAST, SLOW], holds=FAST)

    def on_trial(trial: Trial) -> None:
        if trial.number == 2:
            interrupt()

    result = run_search(server, PROBLEM, optimizer, max_trials=9, on_trial=on_trial)
    assert result.stopped == "interrupted"
    assert len(result.trials) == 2
    assert dict(server.setting or {}) == dict(FAST)


def test_ctrl_c_before_the_first_trial_leaves_the_default() -> None:
    server = FakeServer(PROBLEM.space)
    result = run_search(server, PROBLEM, Scripted([FAST], on_tell=interrupt), max_trials=9)
    assert (result.stopped, result.setting, result.trials) == ("interrupted", None, ())
    assert server.setting is None


def test_an_error_puts_the_default_back() -> None:
    server = FakeServer(PROBLEM.space)
    with pytest.raises(ZeroDivisionError):
        run_search(server, PROBLEM, Scripted([FAST], on_tell=fail), max_trials=9)
    assert server.setting is None


class StubbornServer(FakeServer):
    """Refuses to apply a setting for a second time, as hardware may."""

    def apply(self, setting: Setting) -> Setting:
        if len(self.applied) == 1:
            interrupt()
        return super().apply(setting)


def test_a_failure_to_apply_the_result_puts_the_default_back() -> None:
    server = StubbornServer(PROBLEM.space)
    with pytest.raises(KeyboardInterrupt):
        run_search(server, PROBLEM, Scripted([FAST], holds=FAST), max_trials=9)
    assert server.setting is None


@pytest.mark.parametrize("max_trials", [0, -1])
def test_refuses_a_search_without_trials(max_trials: int) -> None:
    server = FakeServer(PROBLEM.space)
    with pytest.raises(InputError, match=r"a search must have at least one trial \(max_trials\)"):
        run_search(server, PROBLEM, Scripted([FAST]), max_trials=max_trials)
    assert server.applied == []


@pytest.mark.parametrize("objective", ["log(utilization - 1)", "power_w^999"])
def test_refuses_an_objective_without_a_value_and_puts_the_default_back(objective: str) -> None:
    server = FakeServer(PROBLEM.space)
    problem = make_problem(PROBLEM.space, objective=objective)
    with pytest.raises(InputError, match=r"the objective .* must be a finite number in the first trial"):
        run_search(server, problem, Scripted([FAST]), max_trials=3)
    assert server.setting is None


@pytest.mark.parametrize(("slo", "objective"), [("p99.9<1ms", "power"), ("p99<1ms", "interrupts_per_s")])
def test_refuses_a_problem_that_the_target_does_not_measure(slo: str, objective: str) -> None:
    server = FakeServer(PROBLEM.space)
    problem = make_problem(PROBLEM.space, slo=slo, objective=objective)
    with pytest.raises(InputError, match=r"the target does not measure .*, which the (SLO|objective) names") as caught:
        run_search(server, problem, Scripted([FAST]), max_trials=3)
    assert "power_w" in str(caught.value.hint)
    assert server.applied == []


def test_measurements_without_the_slo_quantity_end_the_search_with_the_default() -> None:
    class Forgetful(FakeServer):
        def measure(self) -> Measurement:
            return Measurement({"power_w": 1.0})

    server = Forgetful(PROBLEM.space)
    with pytest.raises(InputError, match="the target does not measure p99_us"):
        run_search(server, PROBLEM, Scripted([FAST]), max_trials=3)
    assert server.setting is None


class Guarded(FakeServer):
    """Cuts every window of a slow setting short."""

    def __init__(self) -> None:
        super().__init__(PROBLEM.space)

    def measure(self) -> Measurement:
        window = super().measure()
        slow = self.setting is not None and dict(self.setting) == dict(SLOW)
        return Measurement(window.quantities, cut_short="harm") if slow else window


def test_a_trial_that_was_cut_short_gives_way_to_the_incumbent_before_the_next_is_chosen() -> None:
    server = Guarded()
    optimizer = Scripted([FAST, SLOW, FAST], holds=FAST)
    result = run_search(server, make_problem(papers_space(), slo="p99<10s"), optimizer, max_trials=9)
    assert [dict(s) for s in server.applied] == [dict(s) for s in (FAST, SLOW, FAST, FAST, FAST)]
    assert [t.meets_slo for t in result.trials] == [True, False, True]
    assert [o.measurement.censored for o in optimizer.observations] == [False, True, False]


def test_without_an_incumbent_the_default_ends_the_harm() -> None:
    server = Guarded()
    settings: list[Setting | None] = []
    optimizer = Scripted([SLOW], on_tell=lambda: settings.append(server.setting))
    run_search(server, PROBLEM, optimizer, max_trials=9)
    assert settings == [None]


def test_tuning_is_a_search_made_of_what_people_type() -> None:
    typed = tune(FakeServer(seed=1), "p99<500us", optimizer="random", max_trials=4, seed=7)
    problem = make_problem(FakeServer().space.without_auto(), slo="p99<500us")
    result = run_search(FakeServer(seed=1), problem, RandomSearch(problem, seed=7), max_trials=4)
    assert [trial.setting for trial in typed.trials] == [trial.setting for trial in result.trials]
    assert (typed.setting, typed.stopped) == (result.setting, result.stopped)


def test_tuning_takes_an_optimizer_of_ones_own_and_an_slo_that_is_read_already() -> None:
    trials: list[Trial] = []
    result = tune(FakeServer(), Slo(0.99, 500.0), optimizer=RandomSearch, max_trials=2, on_trial=trials.append)
    assert tuple(trials) == result.trials


def test_tuning_minds_the_headroom_and_the_objective() -> None:
    wide, narrow = (tune(FakeServer(seed=2), "p99<500us", headroom=share, seed=3).trials for share in (0.0, 0.5))
    assert max(t.measurement["p99_us"] for t in narrow) < max(t.measurement["p99_us"] for t in wide)
    with pytest.raises(InputError, match="does not measure p999_us"):
        tune(FakeServer(), "p99<500us", objective="power_w * p999_us")


@pytest.mark.parametrize(
    ("name", "hint"), [("greybox", "did you mean grey-box?"), ("simplex", "the optimizers are grey-box")]
)
def test_tuning_knows_the_optimizers_by_name(name: str, hint: str) -> None:
    with pytest.raises(InputError, match=f"there is no optimizer '{name}'") as caught:
        tune(FakeServer(), "p99<500us", optimizer=name)
    assert str(caught.value.hint).startswith(hint)
