"""The page on idle governors says how often our menu chose what the recorded kernel did."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.agreement.run import SUBJECT, Row, rows, summary
from bench.rows import read_rows

from bayop.idle.machines import OWN, machine
from bayop.idle.trace import read_trace

FOLDER = max(Path("bench/agreement/results").iterdir())


def test_rows_and_page_follow_from_the_recorded_stays() -> None:
    on = machine(OWN, root=FOLDER / "machine")
    traces = [read_trace(path) for path in sorted(FOLDER.glob("*.csv.gz"))]
    found, written = list(rows(traces, on)), read_rows(FOLDER / "agreement.csv", Row)
    for now, before in zip(found, written, strict=True):
        assert (now.trace, now.governor, now.stays) == (before.trace, before.governor, before.stays)
        assert now.same == pytest.approx(before.same, rel=1e-5)
    page = Path("docs/idle.md").read_text(encoding="utf-8")
    choices = summary(found, traces, on).split("\n\n")[1]
    assert choices in page
    together = {row.governor: row for row in found if row.trace == "all"}
    assert "| " + " | ".join(f"{row.same:.1%}" for row in together.values()) + " |" in page
    assert together[SUBJECT].same == max(row.same for row in together.values())
