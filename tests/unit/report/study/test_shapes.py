from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.unit.report.conftest import POWER, cells_of, marked, points_of, words

from bayop.analysis.conditions import DELAY, FREQUENCY
from bayop.report.study.maps import MOST_VALUES
from bayop.report.study.shapes import draw_l_shape, draw_v_shape, has_v_shape
from bayop.report.study.style import line_colours

# Power is a V over the delay at 1 GHz, and falls at 2 GHz.
V_CELLS = cells_of(
    [
        (None, None, 50.0, 90.0),
        *((d, 1000.0, 50.0, p) for d, p in ((10.0, 80.0), (20.0, 60.0), (40.0, 70.0))),
        *((d, 2000.0, 50.0, p) for d, p in ((40.0, 85.0), (20.0, 95.0), (10.0, 99.0))),
    ],
    error=0.01,
)
L_CELLS = cells_of(
    [
        (None, None, 100.0, 140.0),
        (10.0, 2900.0, 100.0, 130.0),
        (10.0, 2000.0, 110.0, 100.0),
        (50.0, 1700.0, 120.0, 75.0),
        (200.0, 1300.0, 500.0, 72.0),
        (400.0, 1300.0, 900.0, 70.0),
    ]
)


def test_a_line_for_each_frequency_in_the_order_of_the_delays() -> None:
    axes = draw_v_shape(V_CELLS, "power_w").axes[0]
    slow, fast = (line for line in axes.lines if line.get_marker() == "None")
    assert points_of(slow) == [(10.0, 80.0), (20.0, 60.0), (40.0, 70.0)]
    assert points_of(fast) == [(10.0, 99.0), (20.0, 95.0), (40.0, 85.0)]
    colours = line_colours()
    assert (slow.get_color(), fast.get_color()) == (colours(0.0), colours(1.0))
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_xlim()[0]) == ("ITR-delay (us)", "power (W)", 0.0)


def test_the_least_value_of_each_frequency_is_a_dot() -> None:
    axes = draw_v_shape(V_CELLS, "power_w").axes[0]
    assert [points_of(dot) for dot in marked(axes, "o")] == [[(20.0, 60.0)], [(40.0, 85.0)]]


def test_frequencies_are_told_by_a_scale_in_ghz() -> None:
    for figure in (draw_v_shape(V_CELLS, "power_w"), draw_l_shape(L_CELLS, POWER)):
        assert "frequency (GHz)" in words(figure)
    bar = draw_v_shape(V_CELLS, "power_w").axes[1]
    assert bar.get_ylim() == pytest.approx((1.0, 2.0))


def test_one_frequency_and_one_left_alone_are_named_in_a_key() -> None:
    fixed = V_CELLS.filter(pl.col(FREQUENCY) == 1000.0)
    alone = fixed.with_columns(pl.lit(None, pl.Float64).alias(FREQUENCY), power_w=pl.col("power_w") + 1)
    for cells, named in (
        (fixed, ["1 GHz"]),
        (alone, ["frequency left alone"]),
        (alone.drop(FREQUENCY), ["frequency left alone"]),
        (pl.concat([fixed, alone]), ["frequency left alone", "1 GHz"]),
        (pl.concat([V_CELLS, alone]), ["frequency left alone"]),
    ):
        assert has_v_shape(cells)
        figure = draw_v_shape(cells, "power_w")
        legend = figure.axes[0].get_legend()
        assert legend is not None
        assert [text.get_text() for text in legend.get_texts()] == named
        assert ("frequency (GHz)" in words(figure)) is (cells.height > 6)
    (dot,) = marked(draw_v_shape(alone, "power_w").axes[0], "o")
    assert points_of(dot) == [(20.0, 61.0)]


def test_a_v_needs_several_delays_and_few_frequencies() -> None:
    assert has_v_shape(V_CELLS)
    assert not has_v_shape(V_CELLS.drop(DELAY))
    assert not has_v_shape(V_CELLS.filter(pl.col(DELAY) == 10.0))
    many = [(float(d), 1000.0 + f, 100.0, 50.0) for d in range(3) for f in range(MOST_VALUES + 1)]
    assert not has_v_shape(cells_of(many))


def test_the_default_is_a_dashed_line_with_its_standard_error_as_a_band() -> None:
    default = V_CELLS.row(0, named=True)
    axes = draw_v_shape(V_CELLS, "power_w", default=default).axes[0]
    (band,) = axes.patches
    low, high = band.get_window_extent().transformed(axes.transData.inverted()).get_points()[:, 1]
    assert (low, high) == pytest.approx((90.0 - 0.9, 90.0 + 0.9))
    (star,) = marked(axes, "*")
    assert points_of(star) == [(40.0, 90.0)]
    assert [text.get_text() for text in axes.texts] == ["default"]
    (line,) = [line for line in axes.lines if line.is_dashed()]
    assert set(line.get_ydata()) == {90.0}  # type: ignore[arg-type]


def test_an_unmeasured_default_is_not_drawn() -> None:
    unmeasured = V_CELLS.row(0, named=True) | {"power_w": None}
    for default in (None, unmeasured):
        axes = draw_v_shape(V_CELLS, "power_w", default=default).axes[0]
        assert not marked(axes, "*")
        assert not axes.patches


def test_an_l_has_its_front_its_corner_and_the_default() -> None:
    default = L_CELLS.row(0, named=True)
    figure = draw_l_shape(L_CELLS, POWER, default=default, limit_us=600.0)
    axes = figure.axes[0]
    (front,) = [line for line in axes.lines if line.get_drawstyle() == "steps-pre"]
    assert points_of(front) == [(130.0, 100.0), (100.0, 110.0), (75.0, 120.0), (72.0, 500.0), (70.0, 900.0)]
    (dots,) = axes.collections
    assert np.asarray(dots.get_offsets()).tolist() == [
        [130.0, 100.0], [100.0, 110.0], [75.0, 120.0], [72.0, 500.0], [70.0, 900.0],
    ]  # fmt: skip
    # From 1.3 to 2.9 GHz, dark to bright.
    shades = line_colours()(np.array([1.0, 0.4375, 0.25, 0.0, 0.0]))
    assert np.asarray(dots.get_facecolor()) == pytest.approx(shades, abs=0.01)
    (corner,) = marked(axes, "o")
    assert points_of(corner) == [(75.0, 120.0)]
    (star,) = marked(axes, "*")
    assert points_of(star) == [(140.0, 100.0)]
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["front", "corner: 50 us, 1.7 GHz", "default"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("power (W)", "p99 latency (us)")


def test_what_is_slower_by_far_than_everything_else_is_out_of_the_picture() -> None:
    tail = [(10.0, 2900.0, 100.0 + i, 130.0 - i) for i in range(9)]
    far = cells_of([*tail, (400.0, 1300.0, 9000.0, 60.0)])
    assert draw_l_shape(far, POWER).axes[0].get_ylim()[1] < 200.0
    assert draw_l_shape(far, POWER, limit_us=3000.0).axes[0].get_ylim()[1] == pytest.approx(4800.0)
    assert draw_l_shape(far, POWER, limit_us=8000.0).axes[0].get_ylim()[1] == pytest.approx(1.06 * 9000.0)
