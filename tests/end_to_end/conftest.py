"""What several tests of this folder take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.needs import need
from tests.support.page import chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's Chromium, driven by Playwright."""
    need("chromium", "playwright")
    with chromium() as here:
        yield here
