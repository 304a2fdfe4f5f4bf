from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.errors import says

from bayop.carbon.grid import Grid, read_grid
from bayop.errors import InputError


def test_a_series_repeats() -> None:
    grid = Grid((100.0, 300.0))
    assert grid.mean_g_per_kwh == pytest.approx(200.0)
    assert [grid.mean_g_per_kwh_until(h) for h in (1.0, 2.0, 3.0, 2.5)] == pytest.approx([100, 200, 500 / 3, 180])


def test_an_hour_may_be_free_of_carbon() -> None:
    assert Grid((0.0, 300.0)).mean_g_per_kwh == pytest.approx(150.0)


@given(st.lists(st.floats(0.1, 5000.0), min_size=1, max_size=48), st.floats(0.1, 1000.0))
def test_a_mean_lies_within_the_series(hourly: list[float], hours: float) -> None:
    found = Grid(tuple(hourly)).mean_g_per_kwh_until(hours)
    assert min(hourly) - 1e-6 <= found <= max(hourly) + 1e-6


@given(st.lists(st.floats(0.1, 5000.0), min_size=1, max_size=48), st.integers(1, 20))
def test_whole_rounds_have_the_mean_of_the_series(hourly: list[float], rounds: int) -> None:
    grid = Grid(tuple(hourly))
    assert grid.mean_g_per_kwh_until(rounds * len(hourly)) == pytest.approx(grid.mean_g_per_kwh)


@pytest.mark.parametrize(
    ("hourly", "said"),
    [
        ((), "the grid has no carbon intensity for any hour"),
        ((0.0, 0.0), "the carbon intensity is 0 in every hour; a grid must emit something, in some hour at least"),
        ((100.0, -0.1), "cannot use -0.1: a grid's carbon intensity must lie between 0 and 5000 g CO2e/kWh"),
        ((5000.1,), "cannot use 5000.1: a grid's carbon intensity must lie between 0 and 5000 g CO2e/kWh"),
        ((float("nan"),), "cannot use nan: a grid's carbon intensity must lie between 0 and 5000 g CO2e/kWh"),
    ],
)
def test_what_is_no_grid(hourly: tuple[float, ...], said: str) -> None:
    with pytest.raises(InputError) as error:
        Grid(hourly)
    assert said in error.value.message


def test_reads_a_file(tmp_path: Path) -> None:
    path = tmp_path / "grid.csv"
    path.write_text("hour,gco2_per_kwh\n0,250\n1,310.5\n", encoding="utf-8")
    assert read_grid(path).hourly_g_per_kwh == (250.0, 310.5)


def test_reads_what_a_spreadsheet_saves(tmp_path: Path) -> None:
    path = tmp_path / "grid.csv"
    path.write_text("hour,gco2_per_kwh\n0,250\n", encoding="utf-8-sig")
    assert read_grid(path).hourly_g_per_kwh == (250.0,)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "grid.csv:1"),
        ("hour,value\n0,250\n", "there is no column gco2_per_kwh"),
        ("hour,gco2_per_kwh\n", "the grid has no carbon intensity for any hour"),
        ("hour,gco2_per_kwh\n0,250\n2,250\n", "grid.csv:3: hours must follow"),
        (
            "hour,gco2_per_kwh\n0,0\n",
            "the carbon intensity is 0 in every hour; a grid must emit something, in some hour at least",
        ),
        ("hour,gco2_per_kwh\n0,nan\n", "grid.csv:2"),
        ("hour,gco2_per_kwh\n0,-1\n", "grid.csv:2"),
        ("hour,gco2_per_kwh\n0\n", "grid.csv:2: a carbon intensity must be a number"),
        ("hour,gco2_per_kwh\n0,\x00\n", "grid.csv"),
    ],
)
def test_refuses_a_wrong_file(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "grid.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_grid(path)
    assert says(error.value, said)


def test_refuses_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*none\.csv: no such file"):
        read_grid(tmp_path / "none.csv")


def test_what_never_ends_is_no_series(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "grid.csv")
    for path in (Path("/dev/zero"), tmp_path / "grid.csv"):
        with pytest.raises(InputError, match=f"cannot read {path}: it is no regular file"):
            read_grid(path)
