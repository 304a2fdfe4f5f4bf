from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from tests.support.interrupt_logs import MUTILATE, linux_run, write_files

from bayop.errors import InputError
from bayop.interrupts.layout import ENERGY_UNIT_J, TSC_HZ
from bayop.interrupts.log import open_log
from bayop.interrupts.run_study import LogFolder, find_log_folders, study_of

START = 11_179_492_725_437
LABELS = {
    "linux_default_64B": "linux.np.{role}.0_1_64_5000_1_0xffff_135",
    "linux_default_8192B": "linux.np.{role}.0_1_8192_5000_1_0xffff_135",
    "linux_static_8192B_itr8us_2500MHz": "linux.np.{role}.0_1_8192_5000_8_0x1900_135",
    "ebbrt_static_8192B_itr6us_2200MHz": "ebbrt.{role}.0_8192_5000_6_0x1600_135",
}
SIZES = {"64B": 64, "8192B": 8192}


def imported(*folders: Path) -> pl.DataFrame:
    return study_of(find_log_folders(folders), open_log=open_log, on_log=lambda: None)


def raw(log: Path, out: Path, idle: str) -> None:
    """Writes a published log as the driver had printed it, with a record before and one after the workload."""
    table = pl.read_csv(log)
    ticks = (pl.col("time_us") * (TSC_HZ / 1e6)).round().cast(pl.Int64) + START

    def counter(name: str, first: int, scale: float = 1.0) -> pl.Expr:
        return ((pl.col(name) * scale).round().cast(pl.Int64) + first).fill_null(0)

    cells = [
        pl.col("entry"),
        *map(pl.col, ("rx_descriptors", "rx_bytes", "tx_descriptors", "tx_bytes")),
        *(counter(f"{name}_cum", 10**9) for name in ("instructions", "cycles", "ref_cycles", "llc_misses")),
        pl.lit(idle),
        counter("energy_pkg1_j_cum", 2**31, 1 / ENERGY_UNIT_J),
        ticks,
    ]
    lines = table.select(pl.concat_str(cells, separator=" ")).to_series().to_list()
    outside = [
        f"{entry} 9 9999 9 9999 0 0 0 0 {idle} 0 {time}" for entry, time in ((0, START - 10), (10**6, START * 2))
    ]
    out.write_text("\n".join([outside[0], *lines, outside[1]]) + "\n", encoding="utf-8")


@pytest.mark.parametrize("log", LABELS)
def test_the_published_logs_make_the_published_summary(data: Path, tmp_path: Path, log: str) -> None:
    summary = pl.read_csv(data / "interrupts_netpipe_summary.csv").filter(pl.col("log") == log).row(0, named=True)
    label = LABELS[log]
    ends = f"{START} {START + round(summary['workload_s'] * TSC_HZ) + 200_000}"
    if log.startswith("linux"):
        size = label.split("_")[2]
        (tmp_path / label.format(role="client")).write_text(f"{size} 22.883602 0.00002134 0.230518\n")
        (tmp_path / label.format(role="server")).write_text(f"SERVER_WORKLOAD_PERIOD: {ends} 3.6 4.4\n")
        raw(data / f"interrupts_netpipe_{log}.csv.gz", tmp_path / label.format(role="log"), "0 0 0 0 0")
    else:
        line = f"0 8192 5000 0x1600 135 6 3.7644 4.7438 2835.3799 22.0429 {ends}\n"
        (tmp_path / label.format(role="np.out")).write_text(line)
        raw(data / f"interrupts_netpipe_{log}.csv.gz", tmp_path / label.format(role="dmesg"), "0 0 0")
    row = imported(tmp_path).row(0, named=True)
    assert row["interrupts"] == summary["entries"]
    assert (row["rx_bytes"], row["tx_bytes"]) == (summary["rx_bytes"], summary["tx_bytes"])
    assert row["duration_s"] == pytest.approx(summary["workload_s"], abs=2e-4)
    assert row["energy_j"] == pytest.approx(summary["log_pkg1_energy_j"], rel=2e-5)
    # What the benchmark itself read before and after it.
    assert row["energy_j"] == pytest.approx(summary["pkg1_energy_j"], rel=0.006)


def test_a_folder_is_a_campaign_and_a_run_a_trial(tmp_path: Path) -> None:
    first = write_files(tmp_path / "oct_29", linux_run("0_50_0x1d00_135_200000") | linux_run("1_50_0x1d00_135_200000"))
    second = write_files(tmp_path / "nov_3", linux_run("0_1_0xffff_135_400000"))
    frame = imported(first, second)
    assert frame.select("study", "trial", "repeat", "asked.cpu.freq_mhz").rows() == [
        ("oct_29", 1, 0, 2900.0),
        ("oct_29", 2, 1, 2900.0),
        ("nov_3", 1, 0, None),
    ]


def test_folders_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    folders = [write_files(tmp_path / "logs", linux_run()), write_files(tmp_path / "x" / "logs", linux_run())]
    with pytest.raises(InputError, match="a folder is a campaign, and must have a name of its own"):
        find_log_folders(folders)


@pytest.mark.parametrize("name", ["two\nlines", "not\udcff text"])
def test_a_folder_whose_name_is_no_text(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="whose name must be one line of text"):
        find_log_folders([write_files(tmp_path / name, linux_run())])


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    write_files(tmp_path, {"file": ""})
    for name, why in (("no", "no such file"), ("file", "not a directory")):
        with pytest.raises(InputError, match=f"cannot read .*{name}: {why}"):
            find_log_folders([tmp_path / name])


def test_what_is_wrong_with_the_names_is_said_of_their_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        find_log_folders([tmp_path])
    assert caught.value.place == str(tmp_path)


def test_the_current_folder_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write_files(tmp_path / "today", linux_run()))
    (folder,) = find_log_folders([Path()])
    assert folder == LogFolder("today", Path(), folder.runs)


def test_a_number_that_no_study_has_is_said_of_the_runs_file(tmp_path: Path) -> None:
    slow = MUTILATE.replace("232.0", "2.0")
    files = {name: slow if ".out." in name else content for name, content in linux_run().items()}
    with pytest.raises(InputError) as caught:
        imported(write_files(tmp_path, files))
    assert caught.value.message == (
        "cannot use 2.0: p99_us must be at least as long as the quantiles below it "
        f"(the run of {tmp_path}/linux.mcd.out.0_50_0x1d00_135_200000, column p99_us)"
    )
