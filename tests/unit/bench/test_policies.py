"""The page on policies says what the committed rows say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bench.policies import page
from bench.policies.run import Row, best, line

ROWS = max(Path("bench/policies/results").glob("*/rows.jsonl"))
ROW = Row("silo", 5e4, 500.0, "static", 100.0, 1300.0, 53.2, 150.0, 490.0, 0.4)


def test_every_table_of_the_page_follows_from_the_rows() -> None:
    shown = page.PAGE.read_text(encoding="utf-8")
    for name, text in page.tables(page.read_cases(ROWS)):
        assert f"<!-- table: {name} -->\n{text}\n<!-- end -->" in shown, name


def test_no_policy_draws_less_than_the_floor() -> None:
    for case in page.read_cases(ROWS):
        floor_w = case.rows[page.FLOOR].power_w
        assert all(row.power_w > 0.995 * floor_w for row in case.rows.values()), case.name


def test_the_best_row_meets_the_slo() -> None:
    late = replace(ROW, power_w=40.0, p99_us=510.0)
    assert best([late, ROW, replace(ROW, power_w=60.0)]) == ROW
    assert best([late]) is None
    assert line(late).endswith("MISSED")
    assert line(ROW).endswith("ok")
