"""Writes the tables of four knobs into docs/benchmarks.md, from the newest committed results.

Example:
  python -m bench.knobs.page
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench.knobs.cost import Cost
from bench.knobs.tables import Outcome, costs_table, regrets_table
from bench.markdown import replace_table
from bench.rows import read_rows

PAGE = Path("docs/benchmarks.md")
RESULTS = Path("bench/knobs/results")


def tables() -> Iterator[tuple[str, str]]:
    """Names and texts of the newest results' tables."""
    yield "knobs", regrets_table(read_rows(max(RESULTS.glob("*/raw.csv")), Outcome))
    yield "cost of choosing", costs_table(read_rows(max(RESULTS.glob("*/cost.csv")), Cost))


def main() -> None:
    """Rewrites the page."""
    text = PAGE.read_text(encoding="utf-8")
    for name, table in tables():
        text = replace_table(text, name, table)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
