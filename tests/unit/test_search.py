from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import cast

import pytest

from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.optimize.base import Finished, Observation, Optimizer, Prediction, Problem, Proposal
from bayop.optimize.random import RandomSearch
from bayop.search import Trial, run_search, tune
from bayop.slo import Slo
from bayop.space import AUTO, FREQ_MHZ, RX_USECS, Setting
from bayop.testing.fakes import FakeServer, make_problem, papers_space

FAST: Setting = {RX_USECS: 2, FREQ_MHZ: 2900}
SLOW: Setting = {RX_USECS: 400, FREQ_MHZ: 1300}
PROBLEM = make_problem(papers_space())
PREDICTION = Prediction({"power_w": 90.0}, {"power_w": 0.01}, 0.95, 90.0)


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


class Cheap(FakeServer):
    """The operating system knows something that no setting does: its default takes a tenth of the power."""

    def baseline(self) -> Measurement:
        default = super().baseline()
        return replace(default, quantities={**default.quantities, "power_w": 0.1 * default["power_w"]})


class CheapAndLate(Cheap):
    """It saves at the cost of the latency."""

    def baseline(self) -> Measurement:
        default = super().baseline()
        return replace(default, quantities={**default.quantities, "p99_us": 1e6})


@pytest.mark.parametrize("optimizer", ["grey-box", "random"])
def test_a_default_that_is_cheaper_than_everything_is_held(optimizer: str) -> None:
    server = Cheap(seed=4)
    result = tune(server, "p99<500us", optimizer=optimizer, max_trials=5)
    assert result.is_default
    assert dict(result.setting or {}) == {RX_USECS: AUTO, FREQ_MHZ: AUTO}
    assert result.trials[-1].incumbent is None
    assert server.setting is None, "the default is what is in effect"


@pytest.mark.parametrize("optimizer", ["grey-box", "random"])
def test_a_default_that_misses_the_slo_is_no_contender(optimizer: str) -> None:
    server = CheapAndLate(seed=4)
    result = tune(server, "p99<500us", optimizer=optimizer, max_trials=5)
    assert not result.is_default
    assert result.setting is not None
    assert dict(server.setting or {}) == dict(result.setting)


def with_default(power_w: float) -> Problem:
    return replace(PROBLEM, default=Measurement({"power_w": power_w, "p99_us": 100.0}))


@pytest.mark.parametrize(("power_w", "is_default"), [(80.0, True), (90.0, True), (100.0, False)])
def test_the_default_competes_with_what_the_model_expects_of_the_incumbent(power_w: float, *, is_default: bool) -> None:
    server = FakeServer(PROBLEM.space)
    result = run_search(server, with_default(power_w), Scripted([FAST], holds=FAST), max_trials=9)
    assert PREDICTION.objective == 90.0
    assert result.is_default is is_default
    assert (server.setting is None) is is_default
    assert (result.prediction is None) is is_default


def test_a_default_that_meets_the_slo_is_a_result_where_nothing_else_is() -> None:
    server = FakeServer(PROBLEM.space)
    result = run_search(server, with_default(100.0), Scripted([SLOW], holds=None), max_trials=9)
    assert result.is_default
    assert server.setting is None


class Modelless(Scripted):
    """Holds without a model."""

    def predict(self, setting: Setting) -> Prediction | None:
        del setting
        return None


@pytest.mark.parametrize(("share", "is_default"), [(0.99, True), (1.01, False)])
def test_without_a_model_the_default_competes_with_the_mean_of_what_was_measured(
    share: float, *, is_default: bool
) -> None:
    measured = [FakeServer(PROBLEM.space, seed=6).observe(FAST).measurement]
    server = FakeServer(PROBLEM.space, seed=6)
    problem = with_default(share * measured[0]["power_w"])
    assert run_search(server, problem, Modelless([FAST], holds=FAST), max_trials=9).is_default is is_default


def test_a_search_without_a_default_never_ends_with_it() -> None:
    result = run_search(FakeServer(PROBLEM.space), PROBLEM, Scripted([SLOW], holds=None), max_trials=9)
    assert not result.is_default


@dataclass
class Polishing(Scripted):
    """Holds the settings of a list, one window each."""

    polished: list[Setting] = field(default_factory=list)

    def polish(self, held: Setting | None) -> Setting | None:
        del held
        return self.polished[min(len(self.observations) - len(self.asks), len(self.polished) - 1)]


def test_a_hold_follows_what_the_optimizer_polishes() -> None:
    server, windows = FakeServer(PROBLEM.space), list[Trial]()
    optimizer = Polishing([FAST], holds=SLOW, polished=[FAST, SLOW])
    result = run_search(server, PROBLEM, optimizer, max_trials=9, hold=3, on_window=windows.append)
    assert [(w.number, dict(w.setting)) for w in windows] == [(1, dict(FAST)), (2, dict(SLOW)), (3, dict(SLOW))]
    assert [dict(o.asked or {}) for o in optimizer.observations] == [dict(FAST), dict(FAST), dict(SLOW), dict(SLOW)]
    assert len(result.trials) == 1
    assert dict(result.setting or {}) == dict(server.setting or {}) == dict(SLOW)


def test_an_optimizer_that_does_not_polish_holds_its_incumbent() -> None:
    windows = list[Trial]()
    run_search(
        FakeServer(PROBLEM.space), PROBLEM, Scripted([SLOW], holds=FAST), max_trials=9, hold=2, on_window=windows.append
    )
    assert [dict(w.setting) for w in windows] == [dict(FAST)] * 2


def test_a_hold_ends_where_nothing_is_trusted_or_the_default_is_best() -> None:
    for problem, optimizer in (
        (PROBLEM, Scripted([SLOW], holds=None)),
        (with_default(1.0), Scripted([SLOW], holds=SLOW)),
    ):
        server, windows = FakeServer(PROBLEM.space), list[Trial]()
        run_search(server, problem, optimizer, max_trials=9, hold=5, on_window=windows.append)
        assert windows == []
        assert server.setting is None


def test_a_window_of_a_hold_that_is_cut_short_puts_the_default_back_before_anything_else() -> None:
    server, in_effect = Guarded(), list[Setting | None]()
    optimizer = Polishing([FAST], holds=FAST, polished=[SLOW, FAST], on_tell=lambda: in_effect.append(server.setting))
    windows = list[Trial]()
    run_search(server, PROBLEM, optimizer, max_trials=9, hold=2, on_window=windows.append)
    assert [w.measurement.censored for w in windows] == [True, False]
    assert in_effect == [FAST, None, FAST]
    assert dict(server.setting or {}) == dict(FAST)


def test_refuses_more_throughput_than_there_is_load_and_quantiles_that_nobody_measures() -> None:
    server = FakeServer(PROBLEM.space)
    for slo, message in (
        ("p99<1ms,qps>400.1k", "an SLO's throughput must be no more than the offered load"),
        ("p99<1ms,p99.9<2ms", "does not measure p999_us, which the SLO names"),
    ):
        problem = make_problem(PROBLEM.space, slo=slo)
        with pytest.raises(InputError, match=message):
            run_search(server, problem, Scripted([FAST]), max_trials=3)
    assert server.applied == []


def test_tuning_refuses_what_is_no_slo_before_anything_is_applied() -> None:
    server, no_slo = FakeServer(PROBLEM.space), cast("str", 500)
    with pytest.raises(InputError, match=r"cannot use 500: an SLO must be a text or a bayop\.Slo") as caught:
        tune(server, no_slo)
    assert caught.value.hint == "such as 'p99<500us'"
    assert server.applied == []


def test_tuning_takes_limits_relative_to_the_default() -> None:
    default_us = FakeServer().truth({})["p99_us"]
    trials = tune(FakeServer(seed=1), "p99<1.5*default,p50<500us", max_trials=6).trials
    limit_us = 1.5 * default_us
    assert [t.meets_slo for t in trials] == [t.measurement["p99_us"] < limit_us for t in trials]
    assert trials[-1].measurement["p99_us"] > default_us
