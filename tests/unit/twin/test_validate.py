from __future__ import annotations

import csv
from pathlib import Path

import pytest
from tests.support.studies import write_study
from tests.support.twin_studies import COLUMNS, write_twin_study

from bayop.errors import InputError
from bayop.twin.profile_library import load_profile
from bayop.twin.validate import Cell, Comparison, compare, errors_by_load, read_cells, select_loads

PROFILE = load_profile("ebbrt-memcached")


def static(qps: float = 1000.0, *, utilization: float = 0.5, **measured: float) -> Cell:
    return Cell(
        "linux", qps, {"nic.rx_usecs": 50.0, "cpu.freq_mhz": 2000.0}, 1, measured | {"utilization": utilization}
    )


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return write_twin_study(tmp_path / "study_memcached.csv", PROFILE, os="ebbrt")


def test_a_cell_is_the_median_of_its_repeats(tmp_path: Path) -> None:
    path = write_twin_study(tmp_path / "s.csv", PROFILE, os="ebbrt", loads=(200_000.0,), requests=2_000, repeats=3)
    cells = read_cells(path)
    assert [c.repeats for c in cells] == [3] * 7
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    powers = sorted(float(r["power_w"]) for r in rows if (r["itr_us"], r["freq_ghz"]) == ("10", "1.5"))
    (cell,) = (c for c in cells if c.setting == {"nic.rx_usecs": 10.0, "cpu.freq_mhz": 1500.0})
    assert cell.measured["power_w"] == powers[1]
    assert [c.is_default for c in cells] == [True] + [False] * 6


def test_only_uncapped_rows_count(study: Path) -> None:
    rows = list(csv.DictReader(study.read_text(encoding="utf-8").splitlines()))
    capped = [r | {"rapl_limit_w": "55", "power_w": "1"} for r in rows]
    cells = read_cells(write_study(study, [*capped, *rows], COLUMNS))
    assert len(cells) == len(rows)
    assert min(c.measured["power_w"] for c in cells) > 10.0


def test_loads_are_chosen_among_the_measured(study: Path) -> None:
    cells = read_cells(study)
    assert {c.load for c in select_loads(cells, [500_000.0])} == {500_000.0}
    assert select_loads(cells, []) == cells
    with pytest.raises(InputError, match="cannot use '300000': a load must be one that was measured") as error:
        select_loads(cells, [300_000.0])
    assert error.value.hint == "loads in the data: 200000, 500000"


def test_a_profile_of_another_loop_is_refused(study: Path) -> None:
    with pytest.raises(InputError, match="the study is of rates, and netpipe on Linux of a closed loop"):
        compare(load_profile("linux-netpipe"), read_cells(study), requests=10, seed=1, threads=1)
    round_trips = [Cell("linux", 64.0, {}, 1, {"roundtrip_us": 20.0, "roundtrips": 5000.0})]
    with pytest.raises(InputError, match="the study is of a closed loop, and memcached on EbbRT of rates"):
        compare(PROFILE, round_trips, requests=10, seed=1, threads=1)


def test_the_twin_agrees_with_what_it_wrote_itself(study: Path) -> None:
    errors = errors_by_load(compare(PROFILE, read_cells(study), requests=20_000, seed=1, threads=2))
    assert [(e.os, e.load, e.cells) for e in errors] == [("ebbrt", 200_000.0, 6), ("ebbrt", 500_000.0, 6)]
    for row in errors:
        assert set(row.mape) == {"power_w", "p99_us", "p50_us", "utilization", "interrupts_per_s"}
        assert max(row.mape.values()) < 0.04
        assert max(map(abs, row.default.values())) < 0.06


def test_results_do_not_depend_on_threads_and_repeat_for_a_seed(study: Path) -> None:
    cells = read_cells(study)
    once = compare(PROFILE, cells, requests=3_000, seed=5, threads=1)
    assert once == compare(PROFILE, cells, requests=3_000, seed=5, threads=3)
    assert once != compare(PROFILE, cells, requests=3_000, seed=6, threads=1)


def test_every_cell_is_reported_once(study: Path) -> None:
    counts: list[int] = []
    compare(PROFILE, read_cells(study), requests=1_000, seed=1, threads=1, on_done=counts.append)
    assert sum(counts) == 14


def test_errors_are_relative_and_signed() -> None:
    comparison = Comparison(static(power_w=100.0), {"power_w": 90.0})
    assert comparison.error("power_w") == pytest.approx(-0.1)
    assert comparison.error("p50_us") is None


def test_latencies_of_saturated_cells_are_counted_apart() -> None:
    calm = Comparison(static(p99_us=100.0, power_w=50.0), {"p99_us": 110.0, "power_w": 50.0})
    hot = Comparison(static(p99_us=100.0, power_w=50.0, utilization=0.9), {"p99_us": 200.0, "power_w": 60.0})
    (errors,) = errors_by_load([calm, hot])
    assert errors.mape == pytest.approx({"p99_us": 0.1, "power_w": 0.1})
    assert errors.mape_all == pytest.approx({"p99_us": 0.55})


def test_a_load_without_static_cells_has_only_the_default() -> None:
    cell = Cell("linux", 1000.0, {}, 1, {"power_w": 50.0})
    (errors,) = errors_by_load([Comparison(cell, {"power_w": 55.0})])
    assert (errors.cells, errors.mape) == (0, {})
    assert errors.default == pytest.approx({"power_w": 0.1})
