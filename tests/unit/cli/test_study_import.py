from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.interrupt_logs import (
    LINES,
    ebbrt_lines,
    ebbrt_nodejs_run,
    ebbrt_run,
    linux_run,
    netpipe_memory,
    nodejs_run,
    write_files,
)

from bayop.cli import main
from bayop.study import open_study


def imported(*argv: object) -> int:
    return main(["study", "import", *map(str, argv)])


def refusal(capsys: pytest.CaptureFixture[str], *argv: object) -> str:
    assert imported(*argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert len(captured.err.splitlines()) <= 2
    return captured.err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    runs = linux_run("0_50_0x1d00_135_200000") | linux_run("0_1_0xffff_135_200000")
    return write_files(tmp_path / "oct_29", runs)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_a_folder_becomes_a_study_of_any_format(
    folder: Path, tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / f"study{suffix}"
    assert imported(folder, "--out", out, "--json") == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    frame = open_study(out)
    assert json.loads(captured.out) == {"event": "written", "path": str(out), "trials": 2, "columns": frame.width}
    assert frame.select("study", "app", "p99_us", "asked.nic.rx_usecs", "machine").rows() == [
        ("oct_29", "memcached", 232.0, None, "unknown"),
        ("oct_29", "memcached", 232.0, 50.0, "unknown"),
    ]


def test_a_study_of_raw_logs_may_stand_wherever_a_verb_takes_one(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "study.parquet"
    assert imported(folder, "--out", out) == 0
    assert capsys.readouterr().out == f"{out}: 2 trials, {open_study(out).width} columns\n"
    assert main(["study", "show", str(out), "--json"]) == 0
    campaign = json.loads(capsys.readouterr().out.splitlines()[0])
    assert (campaign["default_trials"], campaign["qps_offered"]) == (1, [200_000.0])


def test_a_machine_of_its_own(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "study.csv"
    assert imported(folder, "--out", out, "--tsc-mhz", "1000", "--energy-unit-uj", "100") == 0
    row = open_study(out).row(0, named=True)
    assert row["duration_s"] == pytest.approx(0.0029)
    assert row["energy_j"] == pytest.approx(700 * 100e-6)


def test_what_served_on_ebbrt_is_a_flag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = write_files(tmp_path / "ebbrt", ebbrt_run()), tmp_path / "study.csv"
    assert "served (--ebbrt-app)\nhint: say memcached or silo\n" in refusal(capsys, folder, "--out", out)
    assert imported(folder, "--ebbrt-app", "silo", "--out", out) == 0
    assert open_study(out)["app"].to_list() == ["silo"]


def test_runs_of_nodejs_and_netpipes_memory_are_rows(tmp_path: Path) -> None:
    memory = {"ebbrt.bin.2_8192_5000_6_0x1600_55": netpipe_memory(ebbrt_lines()[1:])}
    folder = write_files(tmp_path / "mixed", {**nodejs_run(), **ebbrt_nodejs_run(), **memory})
    out = tmp_path / "study.csv"
    assert imported(folder, "--out", out) == 0
    assert open_study(out).select("os", "app", "p99_us", "message_bytes", "roundtrips").rows() == [
        ("linux", "nodejs", 1250.0, None, None),
        ("ebbrt", "nodejs", 1250.0, None, None),
        ("ebbrt", "netpipe", None, 8192, 5000.0),
    ]


def test_bad_input_is_one_clear_error_and_nothing_is_written(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "study.csv"
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "the folder holds no run; a folder of raw logs must hold a run of a benchmark" in refusal(
        capsys, empty, "--out", out
    )
    assert "linux.mcd.dmesg.REPEAT_CORE_ITR_DVFS_RAPL_QPS" in refusal(capsys, empty, "--out", out)
    assert "cannot read nowhere: no such file\n" in refusal(capsys, "nowhere", "--out", out)
    (table := tmp_path / "own.csv").write_text("os,policy\n", encoding="utf-8")
    reads = f"not a directory\nhint: bayop study export {table} --out FILE.parquet reads tables\n"
    assert reads in refusal(capsys, table, "--out", out)
    assert "a study must be written as .parquet, .csv or .csv.gz" in refusal(capsys, "nowhere", "--out", "x.txt")
    assert "it must lie between" in refusal(capsys, folder, "--out", out, "--tsc-mhz", "0")
    log = folder / "linux.mcd.dmesg.0_9_50_0x1d00_135_200000"
    log.write_text("\n".join(LINES[:3]) + "\n1 2\n", encoding="utf-8")
    assert f"a record of this log must have 16 fields ({log}, line 4)" in refusal(capsys, folder, "--out", out)
    log.unlink()
    assert f"there is no {log.name}; a run must have all of its files ({folder})" in refusal(
        capsys, folder, "--out", out
    )
    assert not out.exists()
