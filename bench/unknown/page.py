"""Writes the table of servers of an unknown physics into docs/benchmarks.md, from the newest committed results.

Example:
  python -m bench.unknown.page
"""

from __future__ import annotations

from pathlib import Path

from bench.markdown import replace_table
from bench.rows import read_rows
from bench.unknown.play import Outcome
from bench.unknown.table import markdown, summarise

PAGE = Path("docs/benchmarks.md")
RESULTS = Path("bench/unknown/results")


def table() -> str:
    """The table of the newest results."""
    return markdown(summarise(read_rows(max(RESULTS.glob("*/raw.csv")), Outcome)))


def main() -> None:
    """Rewrites the page."""
    PAGE.write_text(replace_table(PAGE.read_text(encoding="utf-8"), "unknown", table()), encoding="utf-8")


if __name__ == "__main__":
    main()
