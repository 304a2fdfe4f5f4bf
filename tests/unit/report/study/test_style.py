from __future__ import annotations

import matplotlib.colors
import numpy as np
import polars as pl
import pytest

from bayop.report.study.style import (
    DEFAULT_MARKER,
    key_above,
    line_colours,
    mark_default,
    plain_log,
    plain_number,
    single,
    system_colours,
    thin,
)
from bayop.report.style import COLOURS


def test_systems_have_colours_of_their_own() -> None:
    colours = system_colours(["Linux", "EbbRT", "a", "b"])
    assert len(set(colours.values())) == 4


def test_many_points_are_thinned_to_dots() -> None:
    points = pl.DataFrame({"x": [float(i + 1) for i in range(50_000)], "y": [1.0 + i % 7 for i in range(50_000)]})
    few = thin(points, "x", "y", most=1000)
    assert 0 < few.height <= 1000 * 1.2
    assert thin(points, "x", "y", most=100_000).height == 50_000


def test_linux_and_ebbrt_have_the_colours_of_every_figure() -> None:
    colours = system_colours(["node1", "EbbRT", "Linux"])
    assert (colours["Linux"], colours["EbbRT"]) == (COLOURS["bayop-linux"], COLOURS["bayop-ebbrt"])
    assert colours["node1"] not in (colours["Linux"], colours["EbbRT"])


def test_numbers_have_no_exponent() -> None:
    assert [plain_number(x) for x in (0.5, 9999.0, 10_000.0, 20_000.0, -12_500.0)] == [
        "0.5", "9999", "10K", "20K", "-12.5K",
    ]  # fmt: skip


def test_lines_go_from_dark_to_bright_and_stop_before_yellow() -> None:
    luminance = line_colours()(np.linspace(0, 1, 9))[:, :3] @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(luminance) > 0).all()
    assert luminance[-1] < 0.8


@pytest.mark.parametrize("axis", ["x", "y"])
@pytest.mark.parametrize(("high", "ticks"), [(1000.0, [10, 20, 50, 100, 200, 500, 1000]), (61.0, [10, 20, 50])])
def test_a_logarithmic_axis_has_plain_numbers(axis: str, high: float, ticks: list[float]) -> None:
    figure, axes = single((4, 3))
    (axes.set_xlim if axis == "x" else axes.set_ylim)(10.0, high)
    plain_log(axes, axis)
    figure.draw_without_rendering()
    its, other = (axes.xaxis, axes.yaxis) if axis == "x" else (axes.yaxis, axes.xaxis)
    assert (its.get_scale(), other.get_scale()) == ("log", "linear")
    assert [t for t in its.get_majorticklocs() if 10.0 <= t <= high] == pytest.approx(ticks)
    assert its.get_major_formatter()(2000.0) == "2000"
    assert not len(its.get_minorticklocs())


def test_a_short_logarithmic_axis_has_ticks_at_equal_distances() -> None:
    figure, axes = single((4, 3))
    axes.set_xlim(100.0, 600.0)
    plain_log(axes, "x")
    figure.draw_without_rendering()
    steps = np.diff(axes.get_xticks())
    assert len(steps) >= 4
    assert steps == pytest.approx(np.full(len(steps), steps[0]))


def test_the_default_is_a_star_of_its_systems_colour() -> None:
    _, axes = single((4, 3))
    mark_default(axes, 100.0, 130.0, "#2f81d6")
    (star,) = axes.lines
    assert (star.get_marker(), star.get_color()) == (DEFAULT_MARKER, "#2f81d6")
    assert (star.get_xdata()[0], star.get_ydata()[0]) == (100.0, 130.0)  # type: ignore[index]


def test_the_key_hides_nothing() -> None:
    figure, axes = single((4, 3))
    axes.plot([0, 1], [0, 1], label="a line")
    key_above(axes, 1)
    figure.draw_without_rendering()
    legend = axes.get_legend()
    assert legend is not None
    assert legend.get_window_extent().y0 >= axes.get_window_extent().y1
    assert [text.get_text() for text in legend.get_texts()] == ["a line"]


def test_points_that_are_thinned_are_points_that_there_were() -> None:
    rng = np.random.default_rng(0)
    points = pl.DataFrame({"x": np.exp(rng.normal(size=5000)), "y": np.exp(rng.normal(size=5000))})
    few = thin(points, "x", "y", most=400)
    assert few.join(points, on=["x", "y"], how="anti").is_empty()
    # Dots are even in the logarithm: the far ends of both axes are still there.
    for name in ("x", "y"):
        for end in ("min", "max"):
            assert np.log(getattr(few[name], end)()) == pytest.approx(np.log(getattr(points[name], end)()), abs=0.5)


def test_colours_of_many_systems_are_colours() -> None:
    names = [f"node{i}" for i in range(9)]
    assert all(matplotlib.colors.is_color_like(colour) for colour in system_colours(names).values())
    assert list(system_colours(names)) == names
