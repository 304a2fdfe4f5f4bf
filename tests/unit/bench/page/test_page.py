from __future__ import annotations

from pathlib import Path

from bench.page.run import Record, Visit, Watched, table


def test_the_summary_says_what_is_known_so_far() -> None:
    record = Record()
    assert table(record).splitlines()[-1] == "| 0 | - | - | 0 | - | - | - |"
    record.visits += [Visit("services", "light", 1280, 100.0, 0), Visit("service", "dark", 400, 300.0, 2)]
    record.watched.append(Watched(0, 60.0, 0.004))
    assert table(record).splitlines()[-1] == "| 2 | 200 | 300 | 2 | - | 0.40% | - |"
    record.watched.append(Watched(10, 60.0, 0.009))
    assert table(record).splitlines()[-1] == "| 2 | 200 | 300 | 2 | 10 | 0.40% | 0.90% |"
    assert set(record.results.tables) == {"visits", "watched"}


def test_the_table_of_the_page_is_that_of_the_results() -> None:
    table_ = max(Path("bench/page/results").glob("*/summary.md")).read_text(encoding="utf-8")
    assert f"<!-- page -->\n{table_}<!-- end -->" in Path("docs/benchmarks.md").read_text(encoding="utf-8")
