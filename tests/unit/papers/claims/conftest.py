from __future__ import annotations

from pathlib import Path

import pytest

from bayop.papers.claims.claim import Claim, Finding, Verdict
from bayop.papers.claims.evidence import Evidence
from bayop.papers.claims.record import Row


@pytest.fixture
def evidence(tmp_path: Path) -> Evidence:
    """What a test puts into its folder, or into the place of what would be read from there."""
    return Evidence(tmp_path, seed=1, threads=1)


@pytest.fixture
def row() -> Row:
    """A finding as it is recorded."""
    claim = Claim(
        id="a-saving",
        paper="D",
        place="abstract",
        statement="Something saves",
        printed="76 % less",
        command="bayop claims --only a-saving",
        figure="savings",
        examine=lambda _: Finding(Verdict.NOT_TESTABLE, "nobody measured it"),
    )
    return Row.of(claim, Finding(Verdict.AS_RATIO, "why", {"reduction_share": 0.43270004}, {"peak_x": 1.75}))
