"""The blocks of pages, as parameters of a test."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest
from tests.pages.blocks import blocks_of

WEEKLY: Final = (pytest.mark.slow, pytest.mark.weekly, pytest.mark.timeout(1200))


def each_block(pages: Iterable[Path]) -> list[object]:
    """Every block that runs; what is slow runs once a week."""
    return [
        pytest.param(block, id=str(block), marks=WEEKLY if block.is_slow else ())
        for page in pages
        for block in blocks_of(page)
        if block.runs
    ]
