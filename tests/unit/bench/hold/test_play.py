from __future__ import annotations

from pathlib import Path

import pytest
from bench.hold.play import Play, play
from bench.hold.run import UNKNOWN, main


def test_a_server_is_judged_after_its_search_and_in_every_window() -> None:
    rows = play(Play(UNKNOWN, None, 0, 3))
    assert [row.window for row in rows] == [0, 1, 2, 3]
    assert all(0.0 <= row.regret_pct <= 100.0 for row in rows)
    assert all(row.over == (row.regret_pct == 100.0) for row in rows)


def test_where_nothing_or_the_default_is_held_there_is_no_window() -> None:
    assert [row.window for row in play(Play(UNKNOWN, None, 1, 3))] == [0]


def test_the_table_of_the_page_is_that_of_the_results() -> None:
    results = max(Path("bench/hold/results").glob("*/summary.md")).read_text(encoding="utf-8")
    table = "\n".join(line for line in results.splitlines() if line.startswith("|"))
    assert f"<!-- hold -->\n{table}\n<!-- end -->" in Path("docs/benchmarks.md").read_text(encoding="utf-8")


def test_the_same_play_gives_the_same_settings() -> None:
    first, second = (play(Play(UNKNOWN, None, 0, 3)) for _ in range(2))
    assert [r.regret_pct for r in first] == [r.regret_pct for r in second]


def test_data_that_is_not_there_is_an_error_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "no such file" in capsys.readouterr().err
