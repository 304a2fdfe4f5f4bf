"""The twin obeys queueing theory, conserves time and energy, and docs/twin.md says how closely."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.markdown import replace_table
from bench.twin.tables import PAGE
from bench.twin.theory.suite import rows, table

pytestmark = [pytest.mark.slow, pytest.mark.weekly]

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(600)
def test_every_row_holds_and_the_page_shows_it() -> None:
    found = list(rows())
    assert [row for row in found if not row.holds] == []
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    assert page == replace_table(page, "theory", table(found))
