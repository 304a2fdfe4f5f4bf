from __future__ import annotations

import csv
from pathlib import Path

import pytest
from tests.support.errors import says
from tests.support.studies import COLUMNS, study_rows, write_study

from bayop.errors import InputError
from bayop.study import open_study


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.csv"


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
        ({"policy": "dynamic"}, "line 2, column policy: cannot use 'dynamic': policy must be static or default"),
        ({"itr_us": ""}, "line 2, column itr_us: itr_us must not be empty where the policy is static"),
        ({"freq_ghz": ""}, "line 2, column freq_ghz: freq_ghz must not be empty where the policy is static"),
        ({"freq_ghz": "2900"}, "line 2, column freq_ghz: freq_ghz must be in GHz and lie between 0.1 and 10"),
        ({"power_w": ""}, "line 2, column power_w: power_w is empty"),
        ({"power_w": "nan"}, "line 2, column power_w: power_w must be a finite number"),
        ({"p99_us": "0.2"}, "line 2, column p99_us: p99_us must be at least as long as the quantiles below it"),
        ({"qps_offered": "many"}, "line 2, column qps_offered: cannot use 'many': qps_offered must be a number"),
    ],
)
def test_a_cell_that_breaks_the_layout_is_refused_at_its_line(path: Path, change: dict[str, str], message: str) -> None:
    write_study(path, [study_rows()[1] | change])
    with pytest.raises(InputError) as caught:
        open_study(path)
    assert says(caught.value, f"{path}, {message}")


def extended(path: Path, *extras: dict[str, str]) -> Path:
    rows = [row | extra for row, extra in zip(study_rows(), extras, strict=False)]
    return write_study(path, rows, list(dict.fromkeys([*COLUMNS, *(name for e in extras for name in e)])))


def test_the_highest_cap_is_the_processors_own_and_was_not_asked_for(path: Path) -> None:
    extended(path, *({"rapl_limit_w": cap} for cap in ("135", "135", "95", "55")))
    assert open_study(path)["asked.power.cap_w"].to_list() == [None, None, 95.0, 55.0]


def test_the_default_asks_for_nothing_whatever_its_row_says(path: Path) -> None:
    extended(path, {"itr_us": "7", "freq_ghz": "2.9"}, {})
    frame = open_study(path)
    assert frame["asked.nic.rx_usecs"].to_list() == [None, 2.0]
    assert frame["asked.cpu.freq_mhz"].to_list() == [None, 1300.0]


def test_a_label_that_is_wrong_makes_a_row_suspect(path: Path) -> None:
    flags = ({"itr_mislabelled": a, "freq_mislabelled": b} for a, b in (("0", ""), ("1", "0"), ("0", "1"), ("1", "1")))
    extended(path, *flags)
    assert open_study(path)["suspect"].to_list() == [
        None, "itr_mislabelled", "freq_mislabelled", "itr_mislabelled, freq_mislabelled",
    ]  # fmt: skip


def test_counters_and_clock_may_differ_by_little(path: Path) -> None:
    extended(path, {"busy_frac": "0.4"}, {"busy_frac": "1.04"})
    assert open_study(path)["utilization"].to_list() == [0.4, 1.0]
    with pytest.raises(InputError, match=r"busy_frac must be in share and lie between 0 and 1\.05"):
        open_study(extended(path, {"busy_frac": "1.06"}))


def test_interrupts_are_over_the_window_where_nothing_else_is_known(path: Path) -> None:
    extended(path, {"duration_s": "20", "interrupts": "4000"})
    assert open_study(path)["interrupts_per_s"].to_list() == [200.0]
    extended(path, {"duration_s": "20", "interrupts": "4000", "energy_window_s": ""})
    assert open_study(path)["interrupts_per_s"].to_list() == [200.0]


def test_frequencies_are_in_mhz(path: Path) -> None:
    extended(path, {}, {"eff_freq_ghz": "1.25"})
    frame = open_study(path)
    assert frame["mean_freq_mhz"].to_list() == [None, 1250.0]
    assert frame["asked.cpu.freq_mhz"][1] == 1300.0


def test_the_published_name_says_machine_and_service(tmp_path: Path) -> None:
    frame = open_study(write_study(tmp_path / "study_silo.csv"))
    assert frame["machine"].unique().to_list() == ["2x Xeon E5-2690, 82599ES"]
    assert frame["app"].unique().to_list() == ["silo"]
    assert frame["vantage"].unique().to_list() == ["client"]
