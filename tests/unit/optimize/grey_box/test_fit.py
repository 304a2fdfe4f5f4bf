from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from bayop.measurement import Measurement
from bayop.optimize.base import Observation
from bayop.optimize.grey_box.fit import Fit, fit
from bayop.optimize.grey_box.inputs import Encoder, Inputs, typical_delay_us
from bayop.optimize.grey_box.outputs import LATENCY, RESIDUAL_SCALES, UTILIZATION, Outputs
from bayop.optimize.grey_box.prior import SHAPES
from bayop.optimize.server_class import ServerClass, Spread
from bayop.space import FREQ_MHZ, RX_USECS, Setting
from bayop.testing.fakes import FakeServer, make_problem, papers_space

PROBLEM = make_problem(papers_space(), slo="p99<300us")
TYPICAL_US = typical_delay_us(PROBLEM.space, PROBLEM.slo)
SETTINGS: list[Setting] = [
    {RX_USECS: 2, FREQ_MHZ: 2900},
    {RX_USECS: 100, FREQ_MHZ: 2900},
    {RX_USECS: 150, FREQ_MHZ: 2500},
    {RX_USECS: 60, FREQ_MHZ: 2100},
]


def encode(settings: Sequence[Setting]) -> Inputs:
    return Encoder(PROBLEM.space, TYPICAL_US).encode(settings, np.zeros(len(settings)))


def fitted(observations: Sequence[Observation]) -> Fit:
    inputs = encode([o.setting for o in observations])
    return fit(Outputs.of(PROBLEM, explained=True), observations, inputs, PROBLEM.slo)


def latency_us(model: Fit, setting: Setting) -> float:
    return float(np.exp(model.mixture.predict(encode([setting]), [LATENCY]).mean_all[0, 0]))


def calm() -> list[Observation]:
    server = FakeServer(PROBLEM.space, qps=PROBLEM.qps, seed=1)
    return [server.observe(s) for s in SETTINGS]


def window(setting: Setting, *, cut_short: str | None = None, sd: float = 0.02, **quantities: float) -> Observation:
    return Observation(setting, Measurement(quantities, {"p99_us": sd}, cut_short), PROBLEM.qps)


EDGE: Setting = {RX_USECS: 100, FREQ_MHZ: 2000}


@pytest.mark.parametrize("far_us", [[], [60_000.0]])
def test_misses_that_the_model_does_not_believe_are_falls_however_little_they_miss_by(far_us: list[float]) -> None:
    fast = window({RX_USECS: 0, FREQ_MHZ: 2900}, power_w=72.0, p99_us=54.0, sd=0.01)
    shown_us = [(0, 180.0), (20, 178.0), (32, 180.0), (34, 345.0), (34, 343.0), (34, 348.0)]
    step = [window({RX_USECS: d, FREQ_MHZ: 2100}, power_w=60.0 - d / 50, p99_us=us, sd=0.01) for d, us in shown_us]
    far = [window({RX_USECS: 100, FREQ_MHZ: 2000}, power_w=55.0, p99_us=us, sd=0.01) for us in far_us]
    model = fitted([fast, *step, *far])
    assert model.falls == {4, 5, 6, *range(7, 7 + len(far))}
    assert latency_us(model, step[2].setting) == pytest.approx(180.0, rel=0.1)


def test_a_miss_far_above_what_is_expected_is_a_fall_and_left_out() -> None:
    before = fitted(calm())
    after = fitted([*calm(), window(EDGE, power_w=60.0, p99_us=60_000.0)])
    assert before.falls == frozenset()
    assert after.falls == {4}
    assert latency_us(after, EDGE) < 1.5 * latency_us(before, EDGE)


def test_a_window_far_faster_than_everything_else_leads_to_expect_teaches_nothing_of_latency() -> None:
    honest = FakeServer(PROBLEM.space, qps=PROBLEM.qps, seed=3).observe(EDGE)
    fluke = window(EDGE, power_w=honest.measurement["power_w"], p99_us=honest.measurement["p99_us"] / 5.0)
    before, after = fitted(calm()), fitted([*calm(), fluke])
    assert latency_us(after, EDGE) == pytest.approx(latency_us(before, EDGE), rel=0.1)
    assert after.falls == frozenset()


def test_two_windows_that_agree_are_no_fluke() -> None:
    fast = calm()[0].measurement["p99_us"] / 4.0
    after = fitted([*calm(), *(window(EDGE, power_w=60.0, p99_us=us) for us in (fast, 1.1 * fast))])
    assert latency_us(after, EDGE) < 1.5 * fast


def test_what_nothing_led_to_expect_otherwise_is_no_fluke() -> None:
    # The fastest setting drowns in interrupts: how fast others are, one window can't tell.
    drowned = window(SETTINGS[0], power_w=80.0, p99_us=2000.0, utilization=0.9)
    after = fitted([drowned, window(SETTINGS[3], power_w=60.0, p99_us=250.0, utilization=0.5)])
    assert latency_us(after, SETTINGS[3]) < 500.0


def test_a_window_that_was_cut_short_is_a_bound_and_no_fall() -> None:
    bounded = fitted([*calm(), window(EDGE, p99_us=60_000.0, cut_short="harm")])
    assert bounded.falls == frozenset()
    assert latency_us(bounded, EDGE) > PROBLEM.slo.limit_us


def test_a_miss_that_was_to_be_expected_is_no_fall() -> None:
    far: Setting = {RX_USECS: 400, FREQ_MHZ: 2900}
    server = FakeServer(PROBLEM.space, qps=PROBLEM.qps, seed=2)
    observation = server.observe(far)
    assert observation.measurement["p99_us"] > 1.2 * PROBLEM.slo.limit_us
    model = fitted([*calm(), observation])
    assert model.falls == frozenset()
    assert latency_us(model, far) == pytest.approx(observation.measurement["p99_us"], rel=0.1)


def test_where_nothing_met_the_slo_there_is_no_edge_to_fall_from() -> None:
    assert (
        fitted(
            [window(s, power_w=60.0, p99_us=us) for s, us in zip(SETTINGS, (400, 500, 600, 90_000), strict=True)]
        ).falls
        == frozenset()
    )


def test_a_bound_that_contradicts_the_model_is_taken_for_the_latency() -> None:
    expected = latency_us(fitted(calm()), EDGE)
    least = max(1.1 * expected, PROBLEM.slo.limit_us)
    model = fitted([*calm(), window(EDGE, p99_us=least, cut_short="harm")])
    assert model.falls == frozenset()
    assert latency_us(model, EDGE) > 0.9 * least


@pytest.mark.parametrize("seed", range(3))
def test_settings_that_scatter_more_than_they_report_raise_the_noise(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def repeated(sd: float) -> Fit:
        truth = FakeServer(PROBLEM.space, qps=PROBLEM.qps).truth
        return fitted(
            [
                window(s, power_w=truth(s)["power_w"], p99_us=truth(s)["p99_us"] * float(np.exp(sd * rng.normal())))
                for s in SETTINGS * 4
            ]
        )

    honest, wrong = (repeated(sd).mixture.noise_scale(LATENCY) for sd in (0.02, 0.1))
    assert honest < 2.0
    assert wrong > 2.5


@pytest.mark.parametrize("sd", [0.0, 1e-12])
def test_windows_that_claim_to_be_exact_leave_the_equations_regular(sd: float) -> None:
    exact = [
        Observation(
            o.setting, Measurement(o.measurement.quantities, dict.fromkeys(o.measurement.quantities, sd)), o.qps
        )
        for o in [*calm(), *calm(), *calm()]
    ]
    model = fitted(exact)
    assert latency_us(model, SETTINGS[0]) == pytest.approx(exact[0].measurement["p99_us"], rel=0.1)


def test_cores_that_poll_tell_nothing_by_their_utilization() -> None:
    busy = [replace(o, measurement=Measurement({**o.measurement.quantities, "utilization": 0.99})) for o in calm()]
    assert not fitted(busy).mixture.has_seen(UTILIZATION)
    assert fitted(calm()).mixture.has_seen(UTILIZATION)


def test_cores_that_are_all_busy_and_late_are_overloaded() -> None:
    late = [window(s, power_w=60.0, p99_us=400.0, utilization=0.99) for s in SETTINGS]
    assert fitted(late).mixture.has_seen(UTILIZATION)


def known(**shift_sds: float) -> ServerClass:
    """A class that is surer than what holds for any server, with parameters shifted by so many sds."""
    shapes = {n: Spread(mean + shift_sds.get(n, 0.0) * sd, 0.3 * sd) for n, (mean, sd) in SHAPES.items()}
    return ServerClass(shapes, dict(RESIDUAL_SCALES))


def fitted_with(server_class: ServerClass | None, observations: Sequence[Observation]) -> Fit:
    outputs = Outputs.of(replace(PROBLEM, server_class=server_class), explained=True)
    return fit(outputs, observations, encode([o.setting for o in observations]), PROBLEM.slo)


def test_a_class_is_one_more_hypothesis_and_a_wrong_one_is_voted_out() -> None:
    at, observations = encode([EDGE]), calm()
    without = fitted_with(None, observations).mixture.predict(at, [LATENCY])
    right = fitted_with(known(), observations).mixture.predict(at, [LATENCY])
    wrong = fitted_with(known(a=-8.0, c=-8.0), observations).mixture.predict(at, [LATENCY])
    assert right.veto is not None
    assert right.mean_all[0] != without.mean_all[0]
    assert wrong.veto is None
    assert np.allclose(wrong.mean_all, without.mean_all, rtol=1e-3)
    assert np.allclose(wrong.variance_all, without.variance_all, rtol=1e-2)


def test_nothing_is_safe_by_its_class_alone() -> None:
    at, observations = encode([EDGE]), calm()[:1]
    without = fitted_with(None, observations).mixture.predict(at, [LATENCY])
    for a in (-2.0, 0.0, 2.0):
        both = fitted_with(known(a=a), observations).mixture.predict(at, [LATENCY])
        for limit_us in (150.0, 300.0, 600.0):
            below = without.below({0: np.log(limit_us)})[0]
            assert both.below({0: np.log(limit_us)})[0] <= below + 0.01


SEVERAL = make_problem(papers_space(), slo="p99<300us,p50<120us,qps>390k")


def fitted_to_several(observations: Sequence[Observation]) -> Fit:
    inputs = encode([o.setting for o in observations])
    return fit(Outputs.of(SEVERAL, explained=True), observations, inputs, SEVERAL.slo)


def test_a_window_that_serves_less_than_the_floor_is_a_fall_whatever_its_latency() -> None:
    starved = window(EDGE, power_w=60.0, p99_us=150.0, p50_us=60.0, qps=300e3)
    assert fitted_to_several([*calm(), starved]).falls == {4}
    assert latency_us(fitted_to_several([starved]), EDGE) > 290, "nothing has met the SLO: it bounds the latency"


def test_a_fall_of_any_quantile_is_one() -> None:
    assert fitted_to_several([*calm(), window(EDGE, p99_us=299.0, p50_us=20_000.0, qps=4e5)]).falls == {4}


def test_a_window_that_was_cut_short_bounds_the_quantile_that_is_furthest_over() -> None:
    far: Setting = {RX_USECS: 400, FREQ_MHZ: 1300}
    cut = window(far, cut_short="it did harm", p99_us=310.0, p50_us=9000.0)
    before, after = fitted_to_several(calm()), fitted_to_several([*calm(), cut])
    p50 = SEVERAL.slo.quantities.index("p50_us")

    def medians(model: Fit) -> list[float]:
        return [float(m) for m in np.exp(model.mixture.predict(encode([far]), [LATENCY, 3]).mean_all[:, 0])]

    assert medians(before)[p50] < 1000.0
    assert medians(after)[p50] > 3000.0
