from __future__ import annotations

import pytest

from bayop.experiments.day.sweep import Effort, grid_axes, sweep_day
from bayop.load.curve import LoadCurve
from bayop.objective import Objective
from bayop.slo import Slo
from bayop.space import FREQ_MHZ, RX_USECS
from bayop.testing.fakes import Shape, papers_space
from bayop.testing.plants import FakeOracle

EFFORT = Effort(1000, 1000, threads=1)
CURVE = LoadCurve("two", (3e5, 6e5, 3e5))


def objective(name: str = "power", slo: str = "p99<300us") -> Objective:
    return Objective.parse(name, Slo.parse(slo))


def test_the_bound_is_the_best_setting_of_the_whole_lattice() -> None:
    books, maps = sweep_day(FakeOracle(noise=0), "linux", CURVE, objective(), seed=0, effort=EFFORT)
    shape, space = Shape(), papers_space()
    for window, map_ in zip(books.windows, maps, strict=True):
        truths = [shape.at(s, map_.qps) for s in space.settings()]
        best = min(t["power_w"] for t in truths if t["p99_us"] < 300)
        assert window.power_w == pytest.approx(best, rel=0.01)
        assert window.meets_slo
        assert map_.best == window.setting


def test_equal_loads_share_a_sweep_and_every_hour_has_its_map() -> None:
    books, maps = sweep_day(FakeOracle(), "linux", CURVE, objective(), seed=0, effort=EFFORT)
    assert [m.hour for m in maps] == [0, 1, 2]
    assert maps[0].power_w == maps[2].power_w
    assert books.duration_s == 3 * 3600
    assert len(maps[0].power_w) == len(maps[0].rx_usecs)
    assert len(maps[0].power_w[0]) == len(maps[0].freq_mhz)


def test_latency_alone_needs_no_slo() -> None:
    books, _ = sweep_day(FakeOracle(noise=0), "linux", CURVE, objective("latency"), seed=0, effort=EFFORT)
    assert books.windows[0].setting == {RX_USECS: 2, FREQ_MHZ: 2900}


def test_an_slo_that_nothing_meets_has_no_best_setting() -> None:
    oracle = FakeOracle(noise=0)
    books, maps = sweep_day(oracle, "linux", CURVE, objective(slo="p99<10us"), seed=0, effort=EFFORT)
    assert all(m.best is None for m in maps)
    assert not any(w.meets_slo for w in books.windows)


def test_the_grid_covers_the_space_as_far_as_the_slo_reaches() -> None:
    delays, frequencies = grid_axes(papers_space(), 200.0)
    assert delays[0] == 2
    assert 200 < delays[-1] < 240
    assert frequencies == tuple(range(1300, 3000, 100))
    assert grid_axes(papers_space(), 20_000.0)[0][-1] == 400
    assert len(grid_axes(papers_space(), 1.0)[0]) > 2
