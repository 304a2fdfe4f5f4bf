from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from bayop.measurement import Measurement
from bayop.optimize.base import Observation
from bayop.optimize.grey_box.inputs import Encoder, typical_delay_us
from bayop.optimize.grey_box.learn import Lesson, learn, lesson
from bayop.optimize.grey_box.outputs import RESIDUAL_SCALES
from bayop.optimize.grey_box.prior import SHAPES, AnalyticPrior
from bayop.space import FREQ_MHZ, RX_USECS
from bayop.testing.fakes import make_problem, papers_space

PROBLEM = make_problem(papers_space(), slo="p99<500us")
TYPICAL_US = typical_delay_us(PROBLEM.space, PROBLEM.slo)
SETTINGS = [
    {RX_USECS: delay, FREQ_MHZ: mhz} for mhz, delay in product((2900, 2500, 2100, 1700), (2, 40, 100, 200, 300))
]


def server(seed: int, *, a: float, power_w: float = 100.0) -> Lesson:
    """What a server of these formulas says, with a frequency exponent of its own and a noise of 0.2 %."""
    prior = AnalyticPrior(PROBLEM.slo.quantile, TYPICAL_US)
    theta = prior.mean
    theta[prior.names.index("a")] = a
    theta[prior.names.index("log p0")] = np.log(power_w)
    at = Encoder(PROBLEM.space, TYPICAL_US).encode(SETTINGS, np.zeros(len(SETTINGS)))
    noise = np.random.default_rng(seed).normal(0.0, 0.002, size=(3, len(SETTINGS)))
    shown = np.exp(prior.evaluate(theta, at) + noise)
    names = ("utilization", "p99_us", "power_w")
    windows = [
        Measurement(dict(zip(names, map(float, row), strict=True)), dict.fromkeys(names, 0.002)) for row in shown.T
    ]
    return lesson(PROBLEM, [Observation(s, w, PROBLEM.qps) for s, w in zip(SETTINGS, windows, strict=True)])


ALIKE = [server(i, a=0.5 + 0.02 * (i % 3), power_w=50.0 * (i + 1)) for i in range(12)]


def test_what_servers_have_in_common_is_found_whatever_their_size() -> None:
    known = learn(ALIKE)
    assert known.shapes["a"].mean == pytest.approx(0.55, abs=0.06)
    assert known.shapes["a"].sd < 0.7 * SHAPES["a"].sd
    assert set(known.shapes) == set(SHAPES)
    assert known.residual[1.0] > 0.8, "these servers follow the formulas"
    assert sum(known.residual.values()) == pytest.approx(1.0)


def test_two_servers_make_nobody_sure() -> None:
    two, twelve = learn(ALIKE[:2]), learn(ALIKE)
    assert abs(two.shapes["a"].mean - SHAPES["a"].mean) < abs(twelve.shapes["a"].mean - SHAPES["a"].mean)
    assert two.shapes["a"].sd > 0.7 * SHAPES["a"].sd > twelve.shapes["a"].sd
    assert two.residual[8.0] > twelve.residual[8.0]


def test_of_what_servers_do_not_show_nothing_is_learned() -> None:
    # Every server has one load: the exponent of the load has no effect.
    mean, sd = learn(ALIKE).shapes["e"]
    assert mean == pytest.approx(SHAPES["e"].mean)
    assert sd >= SHAPES["e"].sd


def test_servers_that_differ_leave_their_spread() -> None:
    apart = [server(i, a=0.4 + 0.08 * i) for i in range(8)]
    assert learn(apart).shapes["a"].sd > 1.5 * learn(ALIKE).shapes["a"].sd


def test_a_server_that_says_nothing_leaves_what_holds_for_any() -> None:
    empty = replace(ALIKE[0], precision=0.0 * ALIKE[0].precision, pull=0.0 * ALIKE[0].pull, residual=RESIDUAL_SCALES)
    known = learn([empty] * 5)
    assert [s.mean for s in known.shapes.values()] == pytest.approx([s.mean for s in SHAPES.values()])
    assert dict(known.residual) == pytest.approx(dict(RESIDUAL_SCALES))
