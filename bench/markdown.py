"""Tables of the documentation that are written from results."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path


def replace_table(page: str, name: str, table: str) -> str:
    """The page with the table between the comments `<!-- NAME -->` and `<!-- end -->` replaced.

    Raises ValueError when the page does not have exactly one such place.
    """
    start, end = f"<!-- {name} -->", "<!-- end -->"
    place = f"({re.escape(start)}\n).*?({re.escape(end)})"
    text, count = re.subn(place, lambda found: f"{found[1]}{table}\n{found[2]}", page, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"there must be one table between {start} and {end}, found: {count}")
    return text


def page_flags(says: str | None) -> argparse.ArgumentParser:
    """The flags of what rewrites the tables of a page, `--check` so far; `says` is its docstring."""
    flags = argparse.ArgumentParser(description=says, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a table differs")
    return flags


def rewrite_tables(page: Path, tables: Mapping[str, str], *, check: bool) -> int:
    """Replaces the tables of a page, by their names; with `check` nothing is written.

    Returns:
        The exit code: 1 where one was to be checked and differs.
    """
    before = after = page.read_text(encoding="utf-8")
    for name, table in tables.items():
        after = replace_table(after, name, table)
    if not check:
        page.write_text(after, encoding="utf-8")
    return int(check and after != before)
