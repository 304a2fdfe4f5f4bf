from __future__ import annotations

from pathlib import Path

import pytest
from bench.search.cells import find_cells
from bench.several.run import main, play, slos_of, summary


def test_the_second_limit_binds_and_both_are_kept(data: Path) -> None:
    (cell,) = (c for c in find_cells(data) if c.name == "memcached linux 600K p99<500us")
    slos = slos_of(cell)
    (tail,), (both,) = (list(play(cell, limits, slos[limits], 1)) for limits in ("p99", "both"))
    assert both.best_w > tail.best_w
    assert both.power_w is not None
    assert both.power_w < 1.01 * both.best_w
    assert both.over is not None
    assert 0.9 < both.over < 1.02
    assert f"| {both.cell} | {both.slo} | {both.best_w:.1f} W | 1 | 0 | 0 |" in summary([tail, both])


def test_the_table_of_the_page_is_that_of_the_results() -> None:
    results = max(Path("bench/several/results").glob("*/summary.md")).read_text(encoding="utf-8")
    table = "\n".join(line for line in results.splitlines() if line.startswith("|"))
    assert f"<!-- several -->\n{table}\n<!-- end -->" in Path("docs/benchmarks.md").read_text(encoding="utf-8")


def test_data_that_is_not_there_is_an_error_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "no such file" in capsys.readouterr().err
