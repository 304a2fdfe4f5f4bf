"""Pages that repeat experiments: every block does what its page says."""

from __future__ import annotations

import pytest
from tests.pages.blocks import EXPERIMENTS, Block
from tests.pages.parameters import each_block
from tests.pages.reader import Reader


@pytest.mark.parametrize("block", each_block(EXPERIMENTS))
def test_a_block_does_what_its_page_says(block: Block, reader: Reader) -> None:
    reader.follow(block)
