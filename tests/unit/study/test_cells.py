from __future__ import annotations

from pathlib import Path

import pytest

from bayop.errors import InputError
from bayop.study import text as text_module
from bayop.study.cells import read_cells
from bayop.study.schema import column_of
from bayop.study.text import CsvText

COLUMNS = [column_of("trial"), column_of("os")]


def text_of(path: Path, content: str) -> CsvText:
    path.write_text(content, encoding="utf-8")
    return CsvText(path)


def test_rows_come_with_the_lines_that_they_end_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_module, "_BATCH_ROWS", 2)
    frame, lines = read_cells(text_of(tmp_path / "a.csv", "trial,os\n1,linux\n\n2,\n3,ebbrt\n"), COLUMNS)
    assert frame.rows() == [(1, "linux"), (2, None), (3, "ebbrt")]
    assert lines == [2, 4, 5]


def test_a_cell_that_is_something_else_is_found_in_a_later_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_module, "_BATCH_ROWS", 2)
    with pytest.raises(InputError, match="trial must be a whole number") as caught:
        read_cells(text_of(tmp_path / "a.csv", "trial,os\n1,a\n\n2,b\n3,c\nx,d\n"), COLUMNS)
    assert caught.value.place == f"{tmp_path / 'a.csv'}, line 6, column trial"


def test_a_header_alone_is_no_study(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the study is empty") as caught:
        read_cells(text_of(tmp_path / "a.csv", "trial,os\n\n"), COLUMNS)
    assert caught.value.place == f"{tmp_path / 'a.csv'}, line 1"
