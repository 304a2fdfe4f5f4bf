from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.studies import COLUMNS, write_study

from bayop.errors import InputError
from bayop.papers.claims.evidence import APPS, Evidence

ROW = {"os": "linux", "policy": "static", "qps_offered": "1000", "itr_us": "50", "freq_ghz": "1.3", "p99_us": "300"}
DEFAULT = {"os": "linux", "policy": "default", "qps_offered": "1000", "p99_us": "100", "power_w": "90"}


def test_a_file_that_is_not_there_is_named_with_its_folder(evidence: Evidence, tmp_path: Path) -> None:
    (tmp_path / "there.csv").write_text("a,b\n1,2.5\n")
    assert evidence.path("there.csv") == tmp_path / "there.csv"
    assert evidence.table("there.csv").rows(named=True) == [{"a": 1, "b": 2.5}]
    with pytest.raises(InputError) as caught:
        evidence.table("elsewhere.csv")
    assert caught.value.message == (
        f"there is no elsewhere.csv; the folder of measurements must hold the published files ({tmp_path})"
    )
    assert caught.value.hint == "name the folder that has them"


def test_a_cell_is_the_median_of_its_repeats(evidence: Evidence, tmp_path: Path) -> None:
    repeats = [{**ROW, "power_w": power_w} for power_w in ("40", "90", "50")]
    for app in APPS:
        write_study(tmp_path / f"study_{app}.csv", [*repeats, DEFAULT])
    cells = evidence.measured["silo"]
    rows = cells.select("os", "rx_usecs", "freq_mhz", "power_w", "p99_us").rows()
    assert rows == [("linux", None, None, 90.0, 100.0), ("linux", 50.0, 1300.0, 50.0, 300.0)]


def test_the_twin_is_asked_about_the_cells_that_were_measured(evidence: Evidence, tmp_path: Path) -> None:
    for app in APPS:
        rows = [{**row, "power_w": "90", "qps_offered": "200000"} for row in (DEFAULT, ROW)]
        write_study(tmp_path / f"study_{app}.csv", rows, [*COLUMNS, "rapl_limit_w"])
    cells = evidence.simulated["memcached"]
    assert cells.select("os", "qps_offered", "rx_usecs", "freq_mhz", "cap_w").rows() == [
        ("linux", 200_000.0, None, None, None), ("linux", 200_000.0, 50.0, 1300.0, None),
    ]  # fmt: skip
    default, fixed = cells.rows(named=True)
    assert fixed["power_w"] < default["power_w"]
    assert fixed["p99_us"] > default["p99_us"]
    assert Evidence(tmp_path, seed=1, threads=2).simulated["memcached"].equals(cells), "threads change nothing"


def test_what_was_read_once_is_not_read_again(evidence: Evidence, tmp_path: Path) -> None:
    for app in APPS:
        write_study(tmp_path / f"study_{app}.csv", [DEFAULT])
    first = evidence.measured
    (tmp_path / "study_silo.csv").unlink()
    assert evidence.measured is first
