from __future__ import annotations

import csv
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from tests.support.interrupt_logs import LINES, write_lines

from bayop.errors import InputError
from bayop.interrupts.log import open_log
from bayop.interrupts.query import summarise
from bayop.interrupts.summary import Summary
from bayop.report.interrupts.report import short_names, write_report


def test_names_lose_what_they_share() -> None:
    paths = [Path("a/interrupts_netpipe_linux_64B.csv.gz"), Path("a/interrupts_netpipe_ebbrt_64B.csv.gz")]
    assert short_names(paths) == ["linux_64B", "ebbrt_64B"]
    assert short_names(paths[:1]) == ["interrupts_netpipe_linux_64B"]
    assert short_names([Path("a/core.parquet"), Path("b/core.parquet")]) == ["a/core.parquet", "b/core.parquet"]
    assert short_names([Path("log.0"), Path("log.1")]) == ["log.0", "log.1"]


def test_a_report_of_the_published_logs(published: dict[Path, Summary], tmp_path: Path) -> None:
    names = write_report(published, tmp_path)
    assert sorted(names) == sorted(path.name for path in tmp_path.iterdir())
    for name in names:
        if name.endswith(".svg"):
            ET.parse(tmp_path / name)  # noqa: S314 -- our own file
    with (tmp_path / "over_time.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["log"] for row in rows} == set(short_names(list(published)))
    static = [float(row["power_w"]) for row in rows if "static_8192B_itr8us" in row["log"] and row["power_w"]]
    assert np.mean(static) == pytest.approx(26.8, abs=0.2)


def test_a_log_without_samples_has_no_rates_figure(tmp_path: Path) -> None:
    summary = summarise(open_log(write_lines(tmp_path / "log", [LINES[2], LINES[3], LINES[5]])))
    folder = tmp_path / "report"
    folder.mkdir()
    assert "interrupt-rates.png" not in write_report({Path("log"): summary}, folder)


def test_a_log_of_one_record_is_drawn(tmp_path: Path) -> None:
    summary = summarise(open_log(write_lines(tmp_path / "log", LINES[:1])))
    folder = tmp_path / "report"
    folder.mkdir()
    assert "interrupt-spacing.png" in write_report({Path("log"): summary}, folder)


def test_a_folder_that_is_not_there_is_an_error(published: dict[Path, Summary], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot write .*interrupt\-spacing: no such file"):
        write_report(published, tmp_path / "none")
