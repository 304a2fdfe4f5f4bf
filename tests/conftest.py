"""Fixtures that every test may use."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

# As the command line does: the matrices are small, and threads of two libraries only fight over the cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A background job of a shell ignores Ctrl-C, and so would the processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

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


@pytest.fixture(scope="session")
def agent_binary() -> Path:
    """The real `bayop-agent`; BAYOP_AGENT names one that was built before."""
    built = os.environ.get("BAYOP_AGENT")
    if built:
        return Path(built)
    root = Path(__file__).resolve().parent.parent
    build = ["cargo", "build", "--release", "--locked", "--quiet", "--package", "bayop-agent"]
    subprocess.run(build, cwd=root, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", root / "target")) / "release" / "bayop-agent"
