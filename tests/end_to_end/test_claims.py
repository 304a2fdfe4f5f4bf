"""The page of claims follows from the code: the committed record is what a new run finds, and the page is its table."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.claims import differences, from_lines

from bayop.cli.claims import EXAMPLE
from bayop.papers.claims.catalogue import CLAIMS
from bayop.papers.claims.page import render_page

DOCS = Path(__file__).resolve().parents[2] / "docs"
RECORD = DOCS / "claims.jsonl"


def claims(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bayop", "claims", *arguments], capture_output=True, text=True, timeout=1200, check=False
    )


def test_the_page_is_the_committed_record_s() -> None:
    rows = from_lines(RECORD.read_text(encoding="utf-8"))
    assert (DOCS / "claims.md").read_text(encoding="utf-8") == render_page(rows)
    assert [row.id for row in rows] == [claim.id for claim in CLAIMS]


@pytest.mark.slow
@pytest.mark.weekly
@pytest.mark.timeout(1200)
def test_the_committed_record_is_what_a_new_run_finds(data: Path, tmp_path: Path) -> None:
    found = tmp_path / "found.jsonl"
    run = claims("--data", str(data), "--record", str(found))
    assert run.returncode == 0, run.stderr
    recorded, new = (from_lines(file.read_text(encoding="utf-8")) for file in (RECORD, found))
    assert differences(recorded, new) == []


def test_the_claims_of_the_help_s_examples_exist() -> None:
    (ids,) = re.findall(r"--only (\S+)", EXAMPLE)
    assert set(ids.split(",")) <= {claim.id for claim in CLAIMS}


def test_one_claim_can_be_asked_for(data: Path) -> None:
    run = claims("--data", str(data), "--only", "yawn-p99", "--json")
    (row,) = map(json.loads, run.stdout.splitlines())
    assert row["verdict"] == "reproduced"
    assert row["data"]["greatest_share"] == pytest.approx(0.402, abs=0.001)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "no-such"], "there is no claim 'no-such' (--only)"),
        (
            ["--data", "/nonexistent", "--only", "yawn-p99"],
            "there is no yawn_by_rate.csv; the folder of measurements must hold",
        ),
    ],
)
def test_a_wrong_call_is_said(arguments: list[str], message: str) -> None:
    run = claims(*arguments)
    assert run.returncode == 2
    assert message in run.stderr
    assert "hint:" in run.stderr
    assert "Traceback" not in run.stderr
