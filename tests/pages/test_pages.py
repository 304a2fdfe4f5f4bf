"""Every block of the pages that people are meant to type does what the page says."""

from __future__ import annotations

import re

import pytest
from tests.pages.blocks import BENCHMARKS, EXPERIMENTS, PAGES, ROOT, Block, blocks_of
from tests.pages.parameters import each_block
from tests.pages.reader import Reader

BLOCKS = [block for page in PAGES for block in blocks_of(page)]
NOT_RUN = 12
"""How many blocks nothing runs. It may become less."""


@pytest.mark.parametrize("block", each_block(page for page in PAGES if page not in (BENCHMARKS, *EXPERIMENTS)))
def test_a_block_does_what_its_page_says(block: Block, reader: Reader) -> None:
    reader.follow(block)


def test_who_runs_a_block_in_another_place_reads_its_page() -> None:
    for block in BLOCKS:
        if "run by" in block.clauses:
            assert block.page in (ROOT / block.clauses["run by"]).read_text(encoding="utf-8"), block


def test_what_takes_root_says_so() -> None:
    """Who runs the tests as root on a machine of their own finds it as it was."""
    for block in BLOCKS:
        if block.runs and any("sudo" in step.command for step in block.steps()):
            assert "root" in block.needs, block


def test_few_blocks_are_run_by_nothing_and_each_says_why() -> None:
    reasons = [block.clauses["not run"] for block in BLOCKS if "not run" in block.clauses]
    assert len(reasons) == NOT_RUN
    assert all(re.search(r"\w+ \w+", reason) for reason in reasons)
