from __future__ import annotations

import csv
from pathlib import Path

import polars as pl
import pytest

from bayop.errors import InputError
from bayop.study.table import open_study, trusted
from bayop.testing.studies import COLUMNS, study_rows, write_study


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.csv"


@pytest.mark.parametrize(
    ("name", "rows", "suspect"),
    [
        ("study_memcached", 2053, 12),
        ("study_silo", 1285, 349),
        ("study_netpipe", 2249, 0),
        ("systor_memcached", 117, 0),
        ("systor_silo", 53, 0),
        ("yawn_trace_by_minute", 270, 0),
    ],
)
def test_every_published_file_of_trials_is_a_study(data: Path, name: str, rows: int, suspect: int) -> None:
    frame = open_study(data / f"{name}.csv")
    assert frame.height == rows
    assert rows - trusted(frame).height == suspect
    assert frame["target"].unique().to_list() == ["published"]
    assert frame["source"][0] == f"{name}.csv:2"
    assert frame["app"].unique().to_list() == ["memcached" if "yawn" in name else name.partition("_")[2]]


def test_a_published_row_keeps_all_that_it_says(data: Path) -> None:
    with (data / "study_memcached.csv").open(encoding="utf-8") as file:
        theirs = list(csv.DictReader(file))
    frame = open_study(data / "study_memcached.csv")
    for row, ours in zip(theirs, frame.iter_rows(named=True), strict=True):
        static = row["policy"] == "static"
        assert ours["asked.nic.rx_usecs"] == (float(row["itr_us"]) if static else None)
        assert ours["asked.cpu.freq_mhz"] == (pytest.approx(float(row["freq_ghz"]) * 1000) if static else None)
        assert ours["asked.power.cap_w"] == (None if row["rapl_limit_w"] == "135" else float(row["rapl_limit_w"]))
        assert ours["effective.nic.rx_usecs"] == (float(row["itr_actual_us"]) if row["itr_actual_us"] else None)
        assert ours["qps"] == float(row["qps_measured"])
        assert ours["utilization"] == min(float(row["busy_frac"]), 1.0)
        assert ours["interrupts_per_s"] == pytest.approx(float(row["interrupts"]) / float(row["energy_window_s"]))
        assert ours["suspect"] == ("itr_mislabelled" if row["itr_mislabelled"] == "1" else None)
        assert ours["p99_us"] == float(row["p99_us"])


def test_a_closed_loop_has_its_message_size(data: Path) -> None:
    frame = open_study(data / "study_netpipe.csv")
    assert sorted(frame["message_bytes"].unique()) == [64, 65536, 524288]
    assert "qps_offered" not in frame.columns
    assert frame["roundtrip_us"].null_count() == 0
    assert frame["roundtrips"].unique().to_list() == [5000.0]


def test_the_comparison_of_machines_has_no_setting_and_the_power_of_its_window(data: Path) -> None:
    frame = open_study(data / "systor_memcached.csv")
    assert not [name for name in frame.columns if name.startswith("asked.")]
    assert frame["study"].unique(maintain_order=True).to_list() == ["systor_memcached", "systor_memcached (early)"]
    assert "node3 sm220u, ondemand" in frame["machine"].unique()
    spent = frame["energy_j"] / frame["energy_window_s"]
    assert (frame["power_w"] / spent - 1).abs().max() < 1e-3  # type: ignore[operator]


def test_the_idle_governor_that_linux_has_by_itself_is_the_default(data: Path) -> None:
    frame = open_study(data / "yawn_trace_by_minute.csv")
    asked = frame.group_by("asked.idle.governor", "asked.idle.disable").len().sort(pl.all()).rows()
    assert asked == [(None, None, 90), (None, "on", 90), ("yawn", None, 90)]


def test_counters_of_a_log_that_stopped_early_cover_what_it_logged(path: Path) -> None:
    extra = {"duration_s": "20", "energy_window_s": "16", "interrupts": "4000"}
    write_study(path, [study_rows()[1] | extra], [*COLUMNS, *extra])
    frame = open_study(path)
    assert frame["interrupts_per_s"].to_list() == [250.0]
    assert frame["duration_s"].to_list() == [20.0]


def test_a_file_of_another_name_says_neither_machine_nor_service(path: Path) -> None:
    write_study(path)
    frame = open_study(path)
    assert frame["machine"].unique().to_list() == ["unknown"]
    assert frame["app"].null_count() == frame.height


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"policy": "dynamic"}, "line 2, column policy: policy is static or default, but got 'dynamic'"),
        ({"itr_us": ""}, "line 2, column itr_us: itr_us is not empty where the policy is static"),
        ({"freq_ghz": ""}, "line 2, column freq_ghz: freq_ghz is not empty where the policy is static"),
        ({"freq_ghz": "2900"}, "line 2, column freq_ghz: freq_ghz is in GHz and lies between 0.1 and 10"),
        ({"power_w": ""}, "line 2, column power_w: power_w is not empty"),
        ({"power_w": "nan"}, "line 2, column power_w: power_w is a finite number"),
        ({"p99_us": "0.2"}, "line 2, column p99_us: p99_us is at least as long as the quantiles below it"),
        ({"qps_offered": "many"}, "line 2, column qps_offered: qps_offered is a number, but got 'many'"),
    ],
)
def test_a_cell_that_breaks_the_layout_is_refused_at_its_line(path: Path, change: dict[str, str], message: str) -> None:
    write_study(path, [study_rows()[1] | change])
    with pytest.raises(InputError) as caught:
        open_study(path)
    assert caught.value.message.startswith(f"{path}, {message}")


def test_a_column_in_another_unit_is_refused_with_its_name(path: Path) -> None:
    columns = [*(c for c in COLUMNS if c != "freq_ghz"), "freq_mhz"]
    write_study(path, [{**study_rows()[1], "freq_mhz": "2900"}], columns)
    with pytest.raises(InputError, match="no freq_ghz") as caught:
        open_study(path)
    assert caught.value.hint == "the file has freq_mhz: convert it to ghz and name it freq_ghz"


def test_a_column_that_nobody_knows_is_refused(path: Path) -> None:
    write_study(path, [{**study_rows()[1], "qps_mesured": "1"}], [*COLUMNS, "qps_mesured"])
    with pytest.raises(InputError, match="has no such column") as caught:
        open_study(path)
    assert caught.value.hint == "did you mean qps_measured?"
