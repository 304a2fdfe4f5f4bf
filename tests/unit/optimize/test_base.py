"""What an optimizer is told; `tests/contract/test_optimizers.py` holds every optimizer to the rest of the contract."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.optimize.base import Observation
from bayop.slo import Slo
from bayop.testing.fakes import make_problem, papers_space

SLO = Slo.parse("p99<200us")


def observed(p99_us: float, cut_short: str | None = None) -> Observation:
    return Observation({}, Measurement({"p50_us": 1000.0, "p99_us": p99_us}, cut_short=cut_short), 1000.0)


@given(st.floats(1.0, 400.0))
def test_a_window_meets_the_slo_below_its_limit_at_its_quantile(p99_us: float) -> None:
    assert observed(p99_us).meets(SLO) == (p99_us < 200.0)


def test_the_limit_itself_is_too_slow() -> None:
    assert not observed(200.0).meets(SLO)


def test_a_window_that_was_cut_short_is_a_miss_however_fast_it_looked() -> None:
    assert observed(10.0).meets(SLO)
    assert not observed(10.0, "p99 was 800 us for a moment").meets(SLO)


def test_a_target_that_does_not_measure_the_slos_quantile_is_told() -> None:
    with pytest.raises(InputError, match="the target does not measure p90_us") as caught:
        observed(10.0).meets(Slo.parse("p90<200us"))
    assert caught.value.hint == "it measures p50_us, p99_us"


SPACE = papers_space()
WHOLE = {"power_w": 50.0, "p99_us": 150.0}


def default_of(default: Measurement | None, objective: str = "power", headroom: float = 0.0) -> float | None:
    problem = make_problem(SPACE, slo="p99<200us", objective=objective)
    return replace(problem, default=default, headroom=headroom).default_objective()


def test_a_default_that_meets_the_slo_has_an_objective() -> None:
    assert default_of(Measurement(WHOLE)) == 50.0
    assert default_of(Measurement(WHOLE), "power_w * p99_us") == pytest.approx(50.0 * 150e-6), "in W s"


def test_a_default_that_was_measured_for_longer_has_no_more_energy_for_that() -> None:
    longer = Measurement({**WHOLE, "energy_j": 1500.0, "duration_s": 30.0})
    for objective, expected in (("energy_j", 500.0), ("energy_j / duration_s", 50.0), ("power", 50.0)):
        problem = replace(make_problem(SPACE, slo="p99<200us", objective=objective), default=longer)
        assert problem.default_objective(10.0) == pytest.approx(expected)
        assert problem.default_objective() == problem.default_objective(30.0)


@pytest.mark.parametrize(
    "default",
    [
        None,
        Measurement(WHOLE, cut_short="harm"),
        Measurement({"power_w": 50.0}),
        Measurement({"p99_us": 150.0}),
        Measurement({"power_w": 50.0, "p99_us": 200.0}),
    ],
)
def test_a_default_that_was_not_measured_whole_or_misses_the_slo_is_no_contender(default: Measurement | None) -> None:
    assert default_of(default) is None


def test_a_default_must_keep_the_headroom() -> None:
    assert default_of(Measurement(WHOLE), headroom=0.2) == 50.0
    assert default_of(Measurement(WHOLE), headroom=0.3) is None


def test_a_default_whose_objective_has_no_value_is_no_contender() -> None:
    assert default_of(Measurement(WHOLE), "log(p99_us / 1us - 150) * power_w") is None


def test_without_a_constraint_a_late_default_is_one() -> None:
    assert default_of(Measurement({"p99_us": 900.0}), "latency") == pytest.approx(900e-6)
