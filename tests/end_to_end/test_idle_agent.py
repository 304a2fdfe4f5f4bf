"""Stays in idle states that an agent has counted, by the real counter, started for a connection as systemd does."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.pages.blocks import ROOT, blocks_of
from tests.support.agents import AgentProcess, bare_root
from tests.support.ebpf import attached_programs, listening
from tests.support.patience import eventually

OWN = "tests/end_to_end/test_idle_agent.py"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@pytest.fixture
def agent(agent_binary: Path, idle_counter: Path, tmp_path: Path) -> Iterator[AgentProcess]:
    path, root = tmp_path / "counter.sock", bare_root(tmp_path)
    table = f'[idle]\ncounter = "{path}"\n'
    with (
        listening(path, [str(idle_counter), "--asked"]),
        AgentProcess(agent_binary, tmp_path, root, mode="observe", allow={}, more=table) as agent,
    ):
        yield agent


def test_what_it_counts_grows_until_nobody_asks_any_more(agent: AgentProcess, idle_counter: Path) -> None:
    first = agent.client.idle_stays()
    time.sleep(1.0)
    second = agent.client.idle_stays()
    assert (first.began_s, first.states) == (second.began_s, second.states)
    assert second.duration_s - first.duration_s == pytest.approx(1.0, abs=0.2)
    assert sum(row[3] for row in second.stays) > sum(row[3] for row in first.stays)
    assert attached_programs(idle_counter.name) > 0
    assert eventually(lambda: attached_programs(idle_counter.name) == 0, within_s=40)
    assert agent.client.idle_stays().began_s > second.began_s


def test_experts_forecast_what_is_counted(idle_counter: Path) -> None:
    run = subprocess.run([idle_counter, "--windows", "3"], capture_output=True, text=True, check=True)
    header, *windows = map(json.loads, run.stdout.splitlines())
    assert header["experts"] == ["residency", "network", "together"]
    rows = [row for window in windows for row in window["forecasts"]]
    assert {expert for _, expert, *_ in rows} >= {0, 2}, "the network expert may abstain"
    for _, expert, forecasts, hits, loss_us, weight in rows:
        assert 0 <= hits <= forecasts
        assert loss_us <= 999 * forecasts
        assert 4 <= weight <= 995 if expert < 2 else weight == 1000


def test_the_page_is_right_and_an_agent_that_is_killed_leaves_nothing_attached(
    agent: AgentProcess, idle_counter: Path
) -> None:
    """docs/idle.md, but for another socket and time."""
    blocks = blocks_of(ROOT / "docs" / "idle.md")
    (step,) = (step for block in blocks if block.clauses.get("run by") == OWN for step in block.steps())
    here = {"unix:/run/bayop/agent.sock": agent.address, "1min": "2s"}
    words = [here.get(word, word) for word in step.command.split()]
    run = subprocess.run([sys.executable, "-m", *words, "--json"], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert all(json.loads(line)["event"] == "limit" for line in run.stdout.splitlines())
    assert attached_programs(idle_counter.name) > 0
    agent.end(signal.SIGKILL)
    assert eventually(lambda: attached_programs(idle_counter.name) == 0, within_s=10)
