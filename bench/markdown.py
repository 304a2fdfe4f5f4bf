"""Tables of the documentation that are written from results."""

from __future__ import annotations

import re


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
