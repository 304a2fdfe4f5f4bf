from __future__ import annotations

import shlex
import sys

import pytest
from tests.support.agents import CLIENTS


@pytest.fixture(scope="session")
def clients() -> str:
    """The command that runs `CLIENTS`."""
    return shlex.join([sys.executable, "-S", "-c", CLIENTS])
