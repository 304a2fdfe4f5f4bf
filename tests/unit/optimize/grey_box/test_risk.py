from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bayop.measurement import Measurement
from bayop.optimize.base import Observation, Problem
from bayop.optimize.grey_box.belief import Belief
from bayop.optimize.grey_box.caution import Caution
from bayop.optimize.grey_box.mixture import Moments
from bayop.optimize.grey_box.outputs import Outputs
from bayop.optimize.grey_box.risk import Risk
from bayop.optimize.grey_box.seen import Seen
from bayop.slo import Slo
from bayop.space import FREQ_MHZ, RX_USECS, Setting
from bayop.testing.fakes import make_problem, papers_space

PROBLEM = make_problem(papers_space(), slo="p99<200us")


def at(delay: float, freq_mhz: float = 2900) -> Setting:
    return {RX_USECS: delay, FREQ_MHZ: freq_mhz}


def window(setting: Setting, p99_us: float, *, utilization: float | None = None) -> Observation:
    quantities = {"power_w": 50.0, "p99_us": p99_us}
    measured = quantities if utilization is None else {**quantities, "utilization": utilization}
    return Observation(setting, Measurement(measured), PROBLEM.qps)


def risk_after(*observations: Observation, problem: Problem = PROBLEM) -> Risk:
    return Risk(problem, Caution(), Seen(problem, observations, falls=()))


def belief(
    *, safe: float = 0.99, stable: float = 1.0, latency_us: float = 100.0, demand: float = 1.1, clear: float = 1.0
) -> Belief:
    """About one setting."""
    one = np.ones(1)
    latency = np.full((1, 2, 1), np.log(latency_us))
    moments = Moments(one, latency, np.full((1, 2, 1), 1e-4), np.zeros((1, 2, 1)), latency)
    return Belief(
        objective=one,
        lesson=one,
        latency_us=np.array([[latency_us]]),
        plausible=one,
        safe=np.array([safe]),
        stable=np.array([stable]),
        demand=np.array([demand]),
        clear=np.array([clear]),
        trusted=one,
        outputs=Outputs.of(PROBLEM, explained=True),
        moments=moments,
    )


def is_allowed(risk: Risk, about: Belief, reach: str | None = None) -> bool:
    return bool(risk.allowed(about, None if reach is None else Slo.parse(reach))[0])


def test_the_gate_moves_on_with_the_utilization_that_met_the_slo() -> None:
    gates = [
        risk_after(window(at(2), us, utilization=u)).stable_utilization
        for us, u in ((50, 0.3), (50, 0.80), (50, 0.88), (250, 0.88), (50, 0.92))
    ]
    assert gates[0] == Caution().overload_from, "where cores have room, nothing is learned of the cliff"
    assert gates[1] == pytest.approx(0.88)
    assert gates[0] < gates[1] < gates[2] <= gates[4]
    assert gates[3] == gates[0], "what missed the SLO moves nothing"
    assert max(gates) <= Caution().overload_at_most


def test_what_loads_the_cores_no_more_than_what_met_the_slo_is_stable() -> None:
    risk = risk_after(window(at(2), 50, utilization=0.9))
    assert is_allowed(risk, belief(stable=0.2, demand=0.99))
    assert is_allowed(risk, belief(stable=0.2, demand=1.0 + 1e-14)), "no more, but for the arithmetic"
    assert not is_allowed(risk, belief(stable=0.2, demand=1.01))


def test_every_miss_makes_the_next_trial_safer() -> None:
    met, missed = window(at(2), 50), window(at(200), 210)
    safe = [0.91, 0.96, 0.98]
    for misses, least in enumerate((0.9, 0.95, 0.975)):
        risk = risk_after(met, *[missed] * misses)
        assert [is_allowed(risk, belief(safe=s)) for s in safe] == [s >= least for s in safe]


def test_a_setting_far_from_what_was_measured_must_be_surer() -> None:
    risk = risk_after(window(at(2), 50))
    assert is_allowed(risk, belief(safe=0.92, latency_us=99.0))
    assert not is_allowed(risk, belief(safe=0.92, latency_us=101.0))
    assert is_allowed(risk, belief(safe=0.96, latency_us=101.0))


def test_what_may_lie_beyond_a_cliff_is_not_tried_but_known_to_be_hidden_there() -> None:
    risk = risk_after(window(at(2), 50))
    for clear, is_clear in ((0.8, True), (0.7, False)):
        about = belief(clear=clear)
        assert is_allowed(risk, about) == bool(risk.ventured(about)[0]) == is_clear
        assert bool(risk.hidden(about)[0]) != is_clear
    assert not risk.hidden(belief(clear=0.7, safe=0.5))[0], "for other reasons it would not be tried, either"


def test_without_a_constraint_only_the_cores_count() -> None:
    free = make_problem(papers_space(), objective="latency")
    assert is_allowed(risk_after(window(at(2), 50), problem=free), belief(safe=0.0))
    assert not is_allowed(risk_after(window(at(2), 50), problem=free), belief(safe=0.0, stable=0.5))


def test_a_venture_is_less_safe_than_a_trial_and_its_cores_keep_up_or_are_loaded_little_more() -> None:
    risk = risk_after(window(at(2), 50))

    def ventured(about: Belief) -> bool:
        return bool(risk.ventured(about)[0])

    for about in (belief(safe=0.6), belief(safe=0.6, stable=0.6)):
        assert ventured(about)
        assert not is_allowed(risk, about)
    assert not ventured(belief(safe=0.3))
    assert not ventured(belief(safe=0.6, stable=0.4))
    assert ventured(belief(safe=0.6, demand=1.3))
    assert not ventured(belief(safe=0.6, stable=0.6, demand=1.3))


def test_small_steps_reach_half_way_to_the_limit_and_end() -> None:
    small = replace(PROBLEM, small_steps=True, headroom=0.1)

    def after(count: int) -> Risk:
        return risk_after(*[window(at(2 + 2 * i), 50 + i) for i in range(count)], problem=small)

    assert after(0).reach is None
    assert after(1).reach == Slo.parse("p99<115us")
    assert after(3).reach == Slo.parse("p99<116us")
    assert after(4).reach is None
    assert risk_after(window(at(2), 50)).reach is None, "a problem without small steps"
    assert not is_allowed(after(1), belief(latency_us=99.0), reach="p99<80us")
    assert is_allowed(after(1), belief(latency_us=75.0), reach="p99<80us")


def test_with_two_limits_a_small_step_is_one_of_both() -> None:
    two = make_problem(papers_space(), slo="p99<200us,p50<100us")
    shown = Observation(at(2), Measurement({"power_w": 50.0, "p99_us": 100.0, "p50_us": 20.0}), two.qps)
    assert risk_after(shown, problem=replace(two, small_steps=True)).reach == Slo.parse("p99<150us,p50<60us")
