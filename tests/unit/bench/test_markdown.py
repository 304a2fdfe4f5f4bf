"""A table of a page is replaced where it stands, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.markdown import replace_table, rewrite_tables

PAGE = "before\n<!-- a -->\n| old |\n<!-- end -->\n<!-- b -->\n<!-- end -->\nafter\n"


def test_the_named_table_alone_is_replaced() -> None:
    new = replace_table(PAGE, "a", r"| \1 new |")
    assert new == PAGE.replace("| old |", r"| \1 new |")
    assert replace_table(new, "a", "| old |") == PAGE
    assert replace_table(PAGE, "b", "| new |") == PAGE.replace("<!-- b -->\n", "<!-- b -->\n| new |\n")


@pytest.mark.parametrize("page", ["", "<!-- a -->\n", PAGE + PAGE])
def test_a_page_without_exactly_one_place_is_refused(page: str) -> None:
    with pytest.raises(ValueError, match=r"one table between <!-- a -->"):
        replace_table(page, "a", "| new |")


def test_a_page_is_written_but_where_it_is_only_checked(tmp_path: Path) -> None:
    path, tables = tmp_path / "page.md", {"a": "| new |", "b": "| other |"}
    path.write_text(PAGE)
    assert rewrite_tables(path, tables, check=True) == 1
    assert path.read_text() == PAGE
    assert rewrite_tables(path, tables, check=False) == 0
    assert path.read_text() == replace_table(replace_table(PAGE, "a", "| new |"), "b", "| other |")
    assert rewrite_tables(path, tables, check=True) == 0
