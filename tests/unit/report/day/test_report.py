from __future__ import annotations

import json
from pathlib import Path

import pytest

from bayop.errors import InputError
from bayop.experiments.day.record import DayRecord
from bayop.report import DATA
from bayop.report.day.report import write_report


def test_the_folder_has_the_page_the_figures_and_the_data(record: DayRecord, tmp_path: Path) -> None:
    page = write_report(record, tmp_path / "new" / "folder", "1.2.3")
    names = {p.stem for p in page.parent.glob("*.svg")}
    assert names == {p.stem for p in page.parent.glob("*.png")}
    assert {"energy", "power", "margin", "load", "settings", "first-search", "searches-bayop-linux"} <= names
    assert json.loads((page.parent / DATA).read_text(encoding="utf-8"))["app"] == "memcached"
    assert "BayOp 1.2.3." in page.read_text(encoding="utf-8")


def test_a_folder_that_can_not_be_written_is_bad_input(record: DayRecord, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"cannot write .*file: file exists"):
        write_report(record, tmp_path / "file", "1.2.3")
