from __future__ import annotations

from pathlib import Path

from bench.null_days.play import Day
from bench.null_days.run import hours_of_a_day, said, table

QUIET = Day(1, 140, 60.0, 12, 35.0, 0.2, -0.3, 0.7, let_go=False)
SAVING = Day(2, 140, 60.0, 14, 36.0, 0.5, 0.1, 0.9, let_go=False)
LOSS = Day(3, 100, 40.0, 13, 37.0, -0.5, -0.9, -0.1, let_go=True)
NONE = Day(4, 20, 10.0, 0, None, None, None, None, let_go=False)


def test_a_day_says_something_where_its_whole_interval_does() -> None:
    assert [day.says_saving for day in (QUIET, SAVING, LOSS, NONE)] == [False, True, False, False]
    assert [day.says_loss for day in (QUIET, SAVING, LOSS, NONE)] == [False, False, True, False]
    assert said(SAVING) == "day 2: says a saving; 0.50 W saved (0.10 to 0.90) by 14 switchbacks"
    assert said(NONE) == "day 4: says nothing; no interval by 0 switchbacks"


def test_the_summary_counts_days() -> None:
    assert table([QUIET, SAVING, LOSS, NONE]).splitlines()[-1] == "| 4 | 42 | 9.8 | 36.0 | 0.40 | 1 | 1 | 1 |"


def test_a_short_day_goes_through_the_whole_curve() -> None:
    whole, short = hours_of_a_day(24), hours_of_a_day(6)
    assert short == whole[::4]


def test_the_table_of_the_page_is_that_of_the_results() -> None:
    table_ = max(Path("bench/null_days/results").glob("*/summary.md")).read_text(encoding="utf-8")
    assert f"<!-- null_days -->\n{table_}<!-- end -->" in Path("docs/benchmarks.md").read_text(encoding="utf-8")
