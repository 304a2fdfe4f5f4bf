from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from bench.rows import read_rows, write_rows


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


def test_columns_are_the_fields(tmp_path: Path) -> None:
    write_rows(tmp_path / "raw.csv", [Row("one", 1, good=True, share=1 / 3, best_w=None)])
    assert (tmp_path / "raw.csv").read_text(encoding="utf-8").splitlines() == [
        "name,count,good,share,best_w",
        "one,1,1,0.333333,",
    ]
