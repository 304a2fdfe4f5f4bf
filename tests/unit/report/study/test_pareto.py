from __future__ import annotations

import polars as pl
import pytest
from tests.unit.report.conftest import EBBRT, LINUX, POWER, cells_of, marked, points_of

from bayop.analysis.pareto import likely_front
from bayop.report.study.pareto import SURE, draw_pareto
from bayop.report.style import COLOURS, SLO_COLOUR

_LINUX, _EBBRT = COLOURS["bayop-linux"], COLOURS["bayop-ebbrt"]


def texts_of_key(figure: object) -> list[str]:
    (axes,) = figure.axes  # type: ignore[attr-defined]
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_every_setting_is_a_dot_of_its_systems_colour(systems: pl.DataFrame) -> None:
    (axes,) = draw_pareto(systems, POWER).axes
    ebbrt, linux = marked(axes, "o")
    assert (ebbrt.get_color(), linux.get_color()) == (_EBBRT, _LINUX)
    assert points_of(linux) == [(p99, power) for _, _, p99, power in LINUX]
    assert points_of(ebbrt) == [(p99, power) for _, _, p99, power in EBBRT]
    assert axes.get_xscale() == "log"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("p99 latency (us)", "power (W)")
    assert axes.get_ylim()[0] == 0


def test_the_front_is_a_staircase_without_what_others_beat(systems: pl.DataFrame) -> None:
    (axes,) = draw_pareto(systems, POWER).axes
    _, linux = [line for line in axes.lines if line.get_drawstyle() == "steps-post"]
    assert points_of(linux) == [(100.0, 130.0), (120.0, 100.0), (300.0, 70.0), (400.0, 60.0)]


def test_the_default_is_a_star_in_the_key_too(systems: pl.DataFrame) -> None:
    figure = draw_pareto(systems, POWER)
    (star,) = marked(figure.axes[0], "*")
    assert points_of(star) == [(100.0, 130.0)]
    assert star.get_color() == _LINUX
    assert texts_of_key(figure) == ["EbbRT, its front", "Linux, its front", "default"]


def test_without_a_default_there_is_no_star() -> None:
    figure = draw_pareto(cells_of(EBBRT, os="ebbrt"), POWER)
    assert not marked(figure.axes[0], "*")
    assert texts_of_key(figure) == ["EbbRT, its front"]


def test_the_best_under_the_slo_is_a_diamond_left_of_the_line(systems: pl.DataFrame) -> None:
    figure = draw_pareto(systems, POWER, slo=("p99<350us", 350.0))
    (axes,) = figure.axes
    assert [points_of(diamond) for diamond in marked(axes, "D")] == [[(260.0, 50.0)], [(300.0, 70.0)]]
    (limit,) = [line for line in axes.lines if line.get_color() == SLO_COLOUR]
    assert points_of(limit) == [(350.0, 0.0), (350.0, 1.0)]
    assert "SLO p99<350us" in [text.get_text() for text in axes.texts]
    # Two columns of equal length, so that each system stands beside its best setting.
    assert texts_of_key(figure) == [
        "EbbRT, its front", "Linux, its front", "default", "best: 200 us, 1 GHz", "best: 200 us, 2 GHz", " ",
    ]  # fmt: skip


@pytest.mark.parametrize(("limit_us", "side"), [(80.0, "left"), (390.0, "right")])
def test_the_name_of_the_slo_stands_where_there_is_room(systems: pl.DataFrame, limit_us: float, side: str) -> None:
    (axes,) = draw_pareto(systems, POWER, slo=("p99", limit_us)).axes
    (name,) = [text for text in axes.texts if text.get_text() == "SLO p99"]
    assert name.get_horizontalalignment() == side
    assert name.xyann[0] * (1 if side == "left" else -1) > 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("limit_us", [20.0, 5000.0])
def test_a_limit_beside_the_dots_is_in_the_picture(systems: pl.DataFrame, limit_us: float) -> None:
    (axes,) = draw_pareto(systems, POWER, slo=("p99", limit_us)).axes
    low, high = axes.get_xlim()
    assert low < min(limit_us, 70.0)
    assert max(limit_us, 400.0) < high


def test_what_is_surely_on_the_front_is_a_full_dot() -> None:
    cells = cells_of(LINUX, error=0.02)
    likely = likely_front(cells, POWER, seed=0)
    doubtful = likely.filter(pl.col("on_front") < SURE)
    sure = likely.filter(pl.col("on_front") >= SURE)
    assert doubtful.height > 0
    _, full = marked(draw_pareto(cells, POWER, likely=likely).axes[0], "o")
    assert points_of(full) == sure.select("p99_us", "power_w").rows()
