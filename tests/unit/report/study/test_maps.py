from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import LogNorm, Normalize
from matplotlib.patches import Rectangle
from tests.unit.report.conftest import LINUX, POWER, cells_of, marked, points_of, words

from bayop.analysis.conditions import DELAY, FREQUENCY
from bayop.report.study.maps import MOST_VALUES, draw_maps, has_map

CELLS = cells_of(LINUX)
DEFAULT = CELLS.row(0, named=True)


def test_every_setting_is_a_square_in_both_panels() -> None:
    latency, power = draw_maps(CELLS, POWER).axes[:2]
    # Rows are frequencies, upwards; columns are delays.
    assert np.asarray(latency.collections[0].get_array()).tolist() == [[150.0, 400.0], [120.0, 300.0]]
    assert np.asarray(power.collections[0].get_array()).tolist() == [[105.0, 60.0], [100.0, 70.0]]


def test_axes_and_scales_carry_units_and_values() -> None:
    figure = draw_maps(CELLS, POWER)
    axes = figure.axes[1]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("ITR-delay (us)", "frequency (GHz)")
    assert [t.get_text() for t in axes.get_xticklabels()] == ["10", "200"]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["1", "2"]
    assert {"p99 latency (us)", "power (W)"} <= words(figure)


def test_the_default_is_a_star_on_both_scales() -> None:
    figure = draw_maps(CELLS, POWER, default=DEFAULT)
    stars = [points_of(star) for bar in figure.axes[2:] for star in marked(bar, "*")]
    assert stars == [[(0.5, 100.0)], [(0.5, 130.0)]]
    assert not [star for bar in draw_maps(CELLS, POWER).axes for star in marked(bar, "*")]


def test_colours_reach_as_far_as_the_default_and_tails_span_decades() -> None:
    latency, power = (axes.collections[0] for axes in draw_maps(CELLS, POWER, default=DEFAULT).axes[:2])
    assert (latency.norm.vmin, latency.norm.vmax) == (100.0, 400.0)
    assert (power.norm.vmin, power.norm.vmax) == (60.0, 130.0)
    assert isinstance(latency.norm, LogNorm)
    assert type(power.norm) is Normalize


def test_what_misses_the_slo_is_crossed_out_and_the_best_is_framed() -> None:
    axes = draw_maps(CELLS, POWER, limit_us=300.0).axes[0]
    (crosses,) = marked(axes, "x")
    # At the limit is not below it.
    assert sorted(points_of(crosses)) == [(1.0, 0.0), (1.0, 1.0)]
    (frame,) = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert (frame.get_xy(), frame.get_width(), frame.get_height()) == ((-0.5, 0.5), 1, 1)
    assert not draw_maps(CELLS, POWER).axes[0].patches


def test_many_values_have_few_ticks() -> None:
    points = [(float(d), f, 100.0 + d, 50.0) for d in range(2, 62) for f in (1000.0, 2000.0)]
    axes = draw_maps(cells_of(points), POWER).axes[1]
    labels = [t.get_text() for t in axes.get_xticklabels()]
    assert len(labels) <= 11
    assert labels[:2] == ["2", "8"]


@pytest.mark.parametrize(
    ("delays", "freqs", "shown"),
    [(2, 2, True), (MOST_VALUES, 2, True), (MOST_VALUES + 1, 2, False), (1, 5, False), (5, 1, False), (0, 0, False)],
)
def test_a_map_needs_two_values_of_each_knob_and_not_too_many(
    delays: int,
    freqs: int,
    shown: bool,  # noqa: FBT001
) -> None:
    grid = [(float(d), 1000.0 + f, 100.0, 50.0) for d in range(delays) for f in range(freqs)]
    assert has_map(cells_of([LINUX[0], *grid])) is shown


def test_settings_with_other_knobs_are_no_squares() -> None:
    capped = CELLS.with_columns(pl.Series("asked.power.cap_w", [None, None, None, None, 55.0]))
    (latency,) = draw_maps(capped, POWER).axes[0].collections
    assert np.ma.asarray(latency.get_array()).count() == 3
    assert has_map(capped)
    assert not has_map(CELLS.drop(DELAY))
    assert not has_map(CELLS.drop(FREQUENCY))
