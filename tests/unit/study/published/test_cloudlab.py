from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from tests.support.errors import says

from bayop.errors import InputError
from bayop.study import open_study


def test_the_comparison_of_machines_has_no_setting_and_the_power_of_its_window(data: Path) -> None:
    frame = open_study(data / "systor_memcached.csv")
    assert not [name for name in frame.columns if name.startswith("asked.")]
    assert frame["study"].unique(maintain_order=True).to_list() == ["systor_memcached", "systor_memcached (early)"]
    assert "node3 sm220u, ondemand" in frame["machine"].unique()
    spent = frame["energy_j"] / frame["energy_window_s"]
    assert (frame["power_w"] / spent - 1).abs().max() < 1e-3  # type: ignore[operator]


@pytest.fixture
def first_lines(data: Path) -> list[str]:
    return (data / "systor_memcached.csv").read_text(encoding="utf-8").splitlines()[:3]


def test_quantities_are_net_of_a_run_without_load(data: Path) -> None:
    theirs = pl.read_csv(data / "systor_memcached.csv", infer_schema_length=None)
    ours = open_study(data / "systor_memcached.csv")
    for name, their_name in (
        ("energy_j", "energy_net_j"),
        ("instructions", "instructions_net"),
        ("cycles", "cycles_net"),
        ("power_w", "power_window_w"),
        ("mean_us", "avg_us"),
        ("qps", "qps_measured"),
        ("duration_s", "load_s"),
    ):
        assert ours[name].to_list() == theirs[their_name].cast(pl.Float64).to_list()
    window_s = theirs["perf_window_s"].cast(pl.Float64) - theirs["overhead_window_s"].cast(pl.Float64)
    assert ours["energy_window_s"].to_list() == window_s.to_list()
    assert ours["vantage"].unique().to_list() == ["client"]


@pytest.mark.parametrize(
    ("column", "value", "rule"),
    [
        ("governor", "", "governor is empty"),
        ("series", "", "series is empty"),
        ("perf_window_s", "-1", "perf_window_s must be in s and lie between 0 and 1e+07"),
        ("requests", "many", "requests must be a number"),
    ],
)
def test_a_cell_that_breaks_the_layout_is_refused(
    tmp_path: Path, first_lines: list[str], column: str, value: str, rule: str
) -> None:
    cells = first_lines[2].split(",")
    cells[first_lines[0].split(",").index(column)] = value
    path = tmp_path / "systor_memcached.csv"
    path.write_text("\n".join([*first_lines[:2], ",".join(cells)]), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        open_study(path)
    assert says(caught.value, f"{path}, line 3, column {column}: {rule}")
