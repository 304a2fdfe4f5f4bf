"""Fixtures that every test may use."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.register_assert_rewrite("bayop.testing.optimizers", "bayop.testing.targets")

_SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of published data and scoring scripts, beside the repository."""
    if not _SHARED.is_dir():
        pytest.fail(
            f"these tests read the published data in {_SHARED}: put the folder `shared` beside the repository",
            pytrace=False,
        )
    return _SHARED


@pytest.fixture(scope="session")
def data(shared: Path) -> Path:
    """The published studies and traces."""
    return shared / "data"
