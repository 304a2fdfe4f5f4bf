"""A recorded machine whose power meter runs, and the real agent on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bayop.testing.agents import AgentProcess, Machine


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    (tmp_path / "root").mkdir()
    with Machine(tmp_path / "root") as machine:
        yield machine


@pytest.fixture
def agent(agent_binary: Path, tmp_path: Path, machine: Machine) -> Iterator[AgentProcess]:
    with AgentProcess(agent_binary, tmp_path, machine.root) as agent:
        yield agent
