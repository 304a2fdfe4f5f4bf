from __future__ import annotations

from pathlib import Path

import pytest

from bayop.errors import InputError
from bayop.target.study_table import read_study
from bayop.testing.studies import COLUMNS, study_rows, write_study


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.csv"


def test_reads_every_published_study_of_this_layout(data: Path) -> None:
    memcached = read_study(data / "study_memcached.csv")
    assert {(r.os, r.qps) for r in memcached} == {(o, q) for o in ("linux", "ebbrt") for q in (200_000.0, 600_000.0)}
    assert read_study(data / "study_silo.csv")


def test_rows_that_the_study_marks_as_mislabelled_are_left_out(data: Path) -> None:
    text = (data / "study_silo.csv").read_text(encoding="utf-8")
    assert 0 < len(read_study(data / "study_silo.csv")) < len(text.splitlines()) - 1


def test_speaks_the_units_and_names_of_measurements(path: Path) -> None:
    extra = {"qps_measured": "999", "busy_frac": "0.4", "duration_s": "20", "interrupts": "5000", "rapl_limit_w": "135"}
    write_study(path, [study_rows()[1] | extra], [*COLUMNS, *extra])
    (row,) = read_study(path)
    assert (row.os, row.qps, row.rx_usecs, row.freq_mhz, row.cap_w) == ("linux", 1000.0, 2.0, 1300.0, 135.0)
    assert not row.is_default
    assert set(row.quantities) == {
        "power_w",
        "p50_us",
        "p99_us",
        "qps",
        "utilization",
        "duration_s",
        "interrupts_per_s",
    }
    assert row.quantities["interrupts_per_s"] == 250.0


def test_counters_of_a_log_that_stopped_early_cover_what_it_logged(path: Path) -> None:
    extra = {"duration_s": "20", "energy_window_s": "16", "interrupts": "4000"}
    write_study(path, [study_rows()[1] | extra], [*COLUMNS, *extra])
    (row,) = read_study(path)
    assert row.quantities["interrupts_per_s"] == 250.0
    assert row.quantities["duration_s"] == 20.0


def test_a_default_row_has_no_setting(path: Path) -> None:
    row = read_study(write_study(path))[0]
    assert row.is_default
    assert (row.rx_usecs, row.freq_mhz) == (None, None)


def test_what_is_empty_was_not_measured(path: Path) -> None:
    write_study(path, [study_rows()[1] | {"p50_us": "", "busy_frac": " "}], [*COLUMNS, "busy_frac"])
    (row,) = read_study(path)
    assert set(row.quantities) == {"power_w", "p99_us"}


def test_reads_what_a_spreadsheet_saves(path: Path) -> None:
    write_study(path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert len(read_study(path)) == len(study_rows())


@pytest.mark.parametrize(
    ("change", "rule", "column", "value"),
    [
        ({"power_w": "nan"}, "power_w is a finite number", "power_w", "nan"),
        ({"p99_us": "inf"}, "p99_us is a finite number", "p99_us", "inf"),
        ({"p99_us": "fast"}, "p99_us is a finite number", "p99_us", "fast"),
        ({"itr_us": "2us"}, "itr_us is a finite number", "itr_us", "2us"),
        ({"itr_us": ""}, "itr_us is not empty", "itr_us", None),
        ({"power_w": " "}, "power_w is not empty", "power_w", None),
        ({"os": ""}, "os is not empty", "os", None),
        ({"policy": "dynamic"}, "policy is static or default", "policy", "dynamic"),
        ({"freq_ghz": "2900"}, "freq_ghz is in GHz and lies between 0.1 and 10", "freq_ghz", "2900"),
        ({"power_w": "90000"}, "power_w is in W and lies between 0.1 and 20000", "power_w", "90000"),
        ({"qps_offered": "0"}, "qps_offered is in requests/s and lies between 1 and 1e+09", "qps_offered", "0"),
        ({"p99_us": "0.0001"}, "p99_us is in us and lies between 0.01 and 6e+07", "p99_us", "0.0001"),
        ({"p99_us": "0.5"}, "p99_us is at least as long as the quantiles below it", "p99_us", 0.5),
    ],
)
def test_an_error_names_file_line_and_column(
    path: Path, change: dict[str, str], rule: str, column: str, value: object
) -> None:
    rows = study_rows()
    write_study(path, [*rows[:3], rows[3] | change, *rows[4:]])
    with pytest.raises(InputError) as caught:
        read_study(path)
    assert caught.value.rule == rule
    assert caught.value.place == f"{path}, line 5, column {column}"
    assert caught.value.value == value


def test_a_mixed_unit_is_suspected(path: Path) -> None:
    write_study(path, [study_rows()[1] | {"freq_ghz": "2900"}])
    with pytest.raises(InputError) as caught:
        read_study(path)
    assert caught.value.hint == "is the value in another unit than the rest of the column?"


@pytest.mark.parametrize("missing", ["os", "policy", "qps_offered", "itr_us", "freq_ghz", "power_w"])
def test_a_missing_column_is_named(path: Path, missing: str) -> None:
    write_study(path, columns=[c for c in COLUMNS if c != missing])
    with pytest.raises(InputError, match="a study has the columns os, policy") as caught:
        read_study(path)
    assert caught.value.value == f"no {missing}"
    assert caught.value.place == f"{path}, line 1"
    assert "the file has" in str(caught.value.hint)


def test_a_study_without_any_latency_is_refused(path: Path) -> None:
    write_study(path, columns=COLUMNS[:6])
    with pytest.raises(InputError) as caught:
        read_study(path)
    assert caught.value.value == "no p99_us"


def test_a_column_in_another_unit_is_recognised(path: Path) -> None:
    write_study(path)
    path.write_text(path.read_text(encoding="utf-8").replace("freq_ghz", "freq_mhz"), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_study(path)
    assert caught.value.hint == "the file has freq_mhz: convert it to ghz and name it freq_ghz"


@pytest.mark.parametrize(
    ("content", "rule", "line"),
    [
        (b"", "a study has the columns", 1),
        (b"\n\n", "a study has the columns", 1),
        (b"os,policy,qps_offered,itr_us,freq_ghz,power_w,p99_us\n", "a study has at least one trusted row", 1),
        (b"os,policy,qps_offered,itr_us,freq_ghz,power_w,p99_us\nlinux,static\n", "every line of a study", 2),
        (
            b"os,policy,qps_offered,itr_us,freq_ghz,power_w,p99_us\nlinux,static,1,2,2.9,90,50,7\n",
            "every line of a study",
            2,
        ),
        (b"os,policy,qps_offered,itr_us,freq_ghz,power_w,p99_us,os\n", "a study has each column once", 1),
        (
            b'os,policy,qps_offered,itr_us,freq_ghz,power_w,p99_us\nlinux,"static"x,1,2,2.9,90,50\n',
            "a study is a CSV file",
            2,
        ),
        (
            b"os,policy,qps_offered,itr_us,freq_ghz,power_w,p99_us\nlin\xffux,static,1,2,2.9,90,50\n",
            "a study is a CSV file in UTF-8",
            2,
        ),
        (b"\x1f\x8b\x08\x00binary", "a study is a CSV file in UTF-8", 1),
    ],
)
def test_a_file_that_is_no_study_is_refused(path: Path, content: bytes, rule: str, line: int) -> None:
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_study(path)
    assert caught.value.rule.startswith(rule)
    assert caught.value.place == f"{path}, line {line}"


def test_a_file_that_is_not_there_is_named(path: Path) -> None:
    with pytest.raises(InputError, match="the study can be read") as caught:
        read_study(path)
    assert caught.value.value == str(path)
    assert caught.value.hint == "No such file or directory"
