from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from bayop.errors import InputError
from bayop.recorded.rows import study_target
from bayop.recorded.surface import Point, Surface, complete_grid

CORNERS: dict[Point, float] = {
    (0.0, 0.0): 1.0,
    (0.0, 1.0): math.e,
    (2.0, 0.0): math.e**2,
    (2.0, 1.0): math.e**3,
}


def surface(corners: dict[tuple[float, ...], float]) -> Surface:
    return Surface((point, {"power_w": value}) for point, value in corners.items())


def test_gives_back_what_was_measured_at_the_grid_points() -> None:
    for point, value in CORNERS.items():
        assert surface(CORNERS).at(point)["power_w"] == pytest.approx(value)


@pytest.mark.parametrize(("x", "y", "log"), [(1.0, 0.5, 1.5), (0.5, 0.0, 0.5), (2.0, 0.25, 2.25)])
def test_is_bilinear_in_the_logarithm_between_them(x: float, y: float, log: float) -> None:
    assert math.log(surface(CORNERS).at((x, y))["power_w"]) == pytest.approx(log)


def test_averages_repeats_before_the_logarithm() -> None:
    samples = [(point, {"power_w": value * factor}) for point, value in CORNERS.items() for factor in (0.5, 1.5)]
    assert Surface(samples).at((2.0, 1.0))["power_w"] == pytest.approx(math.e**3)


def test_knows_only_what_every_point_measured() -> None:
    samples = [(p, {"power_w": v} | ({"utilization": 0.5} if p != (0.0, 0.0) else {})) for p, v in CORNERS.items()]
    assert Surface(samples).names == ("power_w",)


@pytest.mark.parametrize(("x", "y"), [(-0.1, 0.0), (2.1, 0.0), (0.0, 1.1), (math.nan, 0.0), (math.inf, 0.0)])
def test_refuses_a_point_outside_the_grid(x: float, y: float) -> None:
    with pytest.raises(InputError, match="a setting must lie inside the study's grid"):
        surface(CORNERS).at((x, y))


def test_drops_the_axis_value_with_the_largest_share_of_gaps() -> None:
    points: set[Point] = {(x, y) for x in (1.0, 2.0, 3.0) for y in (1.0, 2.0, 3.0)}
    assert complete_grid(points - {(3.0, 1.0), (3.0, 2.0)}) == ((1.0, 2.0), (1.0, 2.0, 3.0))
    # A tie drops the largest value of the second axis.
    assert complete_grid(points - {(1.0, 1.0)}) == ((1.0, 2.0, 3.0), (2.0, 3.0))
    assert complete_grid(set()) == ()


@pytest.mark.parametrize("points", [[], [(0.0, 0.0)], [(0.0, 0.0), (0.0, 1.0)], [(0.0, 0.0), (1.0, 1.0)]])
def test_refuses_what_is_no_grid(points: list[tuple[float, ...]]) -> None:
    with pytest.raises(InputError, match="a complete grid of at least two values of every knob"):
        surface(dict.fromkeys(points, 1.0))


@pytest.fixture(scope="session")
def score(shared: Path) -> ModuleType:
    """The published scoring script; its surfaces are the truth that a search is judged by."""
    spec = importlib.util.spec_from_file_location("score_tuning", shared / "score" / "score_tuning.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", ["study_memcached.csv", "study_silo.csv"])
def test_agrees_with_the_surface_that_searches_are_scored_on(data: Path, score: Any, name: str) -> None:
    cells = score.load_cells(data / name)
    assert cells
    rng = np.random.default_rng(0)
    for (os, qps), theirs in cells.items():
        target = study_target(data / name, os=os, qps=qps, seed=0)
        ours = target._surface
        assert ours.axes == (tuple(theirs.itrs), tuple(theirs.mhzs))
        for _ in range(100):
            x, y = (rng.uniform(axis[0], axis[-1]) for axis in ours.axes)
            expected_w, expected_us = theirs.at(x, y)
            at = ours.at((x, y))
            assert at["power_w"] == pytest.approx(expected_w)
            assert at["p99_us"] == pytest.approx(expected_us)
        # Every setting of our space is one that the score accepts, and its lattice is ours.
        for slo_us in (200.0, 500.0):
            feasible = [
                at["power_w"]
                for s in target.space.settings()
                if (at := ours.at((float(s["nic.rx_usecs"]), float(s["cpu.freq_mhz"]))))["p99_us"] < slo_us
            ]
            assert min(feasible, default=None) == (
                None if theirs.best(slo_us) is None else pytest.approx(theirs.best(slo_us))
            )


def test_is_linear_in_the_logarithm_along_any_number_of_knobs() -> None:
    points: dict[Point, float] = {
        (x, y, z): math.exp(x + 2 * y + 3 * z) for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 4.0)
    }
    assert math.log(surface(points).at((0.5, 0.25, 1.0))["power_w"]) == pytest.approx(0.5 + 0.5 + 3.0)
    assert math.log(surface({(x,): math.exp(x) for x in (0.0, 2.0)}).at((0.5,))["power_w"]) == pytest.approx(0.5)
