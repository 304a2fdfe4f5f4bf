from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import pytest
from bench.rows import read_rows, write_rows

from bayop.errors import InputError


@dataclass(frozen=True)
class Row:
    name: str
    count: int
    good: bool
    share: float
    best_w: float | None


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    rows = [
        Row("one, with a comma", 3, good=True, share=0.25, best_w=None),
        Row("", 0, good=False, share=math.inf, best_w=90.5),
    ]
    write_rows(tmp_path / "raw.csv", rows)
    assert read_rows(tmp_path / "raw.csv", Row) == rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot read {}: no such file"),
        ("name,count\none,1\n", "{} has other rows; its columns must be name, count, good, share, best_w"),
        ("name,count,good,share,best_w\none,many,1,1,\n", "{} has other rows; its columns must be name, count"),
        ("watts\n1\n", "{} has other rows"),
    ],
)
def test_a_file_that_is_none_of_rows_is_refused(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "raw.csv"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_rows(path, Row)
    assert message.format(path) in str(refused.value)


def test_columns_are_the_fields(tmp_path: Path) -> None:
    write_rows(tmp_path / "raw.csv", [Row("one", 1, good=True, share=1 / 3, best_w=None)])
    assert (tmp_path / "raw.csv").read_text(encoding="utf-8").splitlines() == [
        "name,count,good,share,best_w",
        "one,1,1,0.333333,",
    ]
