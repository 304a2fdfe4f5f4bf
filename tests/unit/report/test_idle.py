from __future__ import annotations

import numpy as np
import pytest
from matplotlib.lines import Line2D

from bayop.idle.machines import MACHINES
from bayop.idle.replay import governors
from bayop.idle.synthetic import synthetic_trace
from bayop.report.idle import choices_over_time, energy_against_latency

MACHINE = MACHINES["sandy-bridge"]
TRACE = synthetic_trace("poisson", 1)


def points(line: Line2D) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in np.asarray(line.get_xydata())]


def test_all_governors_look_different() -> None:
    drawing = energy_against_latency([TRACE], governors(), MACHINE)
    looks = [(line.get_color(), line.get_marker()) for line in drawing.figure.axes[0].get_lines()]
    assert len(looks) == len(governors()) + 1
    assert len(set(looks)) == len(looks)


def test_the_figures_are_drawn_at_the_price_and_the_limit_that_were_given() -> None:
    def mean_state(governor: str, price: float, limit_us: int) -> float:
        drawing = choices_over_time(TRACE, [governor], MACHINE, price=price, limit_us=limit_us)
        (panel,) = drawing.figure.axes
        return float(np.asarray(panel.collections[0].get_offsets())[:, 1].mean())

    assert mean_state("bayop", 2.0, 2) < mean_state("bayop", 0.05, 50)
    assert mean_state("bayop-slo", 2.0, 2) < mean_state("bayop-slo", 2.0, 200)

    def point(limit_us: int) -> tuple[float, float]:
        (axes,) = energy_against_latency([TRACE], ["bayop-slo"], MACHINE, limit_us=limit_us).figure.axes
        (line,) = [line for line in axes.get_lines() if line.get_label() == f"bayop-slo, {limit_us} us"]
        return points(line)[0]

    fast, slow = point(2), point(200)
    assert fast[0] < slow[0]
    assert fast[1] > slow[1]


@pytest.mark.parametrize("price", [0.1, 2.0])
def test_bayop_at_the_price_given_is_a_point_on_its_line(price: float) -> None:
    (axes,) = energy_against_latency([TRACE], ["bayop"], MACHINE, price=price).figure.axes
    line, point = axes.get_lines()
    assert point.get_label() == f"bayop, price {price:g}"
    assert points(point)[0] in points(line)
