"""What several tests of this folder take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest
from tests.support.needs import need, program

_LATEST_S: Final = 120.0
_QUIET: Final = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-renderer-backgrounding",  # on a busy machine, what nobody is thought to see gets no time
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's Chromium, driven by Playwright."""
    need("chromium", "playwright")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=program("chromium"), args=_QUIET, timeout=1000 * _LATEST_S)
        yield chromium
        chromium.close()
