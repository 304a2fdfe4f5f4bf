"""`bayop sweep --target agent:...` with the real agent, on a recorded machine whose power meter runs."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.agents import CAP, CLIENTS, FOUND, AgentProcess, Machine
from tests.support.patience import eventually

from bayop.live.agent.lease import TTL_S
from bayop.study import open_study


def command(agent: AgentProcess, out: Path) -> list[str]:
    return [
        sys.executable, "-m", "bayop", "sweep", "--target", f"agent:{agent.address}", "--latency",
        shlex.join([sys.executable, "-c", CLIENTS]), "--only", "power.cap_w", "--range", "power.cap_w=60:100:20",
        "--repeats", "2", "--window", "200ms", "--settle", "50ms", "--json", "--out", str(out),
    ]  # fmt: skip


def test_a_machine_is_swept_and_left_as_it_was(agent: AgentProcess, machine: Machine, tmp_path: Path) -> None:
    out = tmp_path / "sweep.parquet"
    run = subprocess.run(command(agent, out), capture_output=True, text=True, timeout=90, check=False)
    assert run.returncode == 0, run.stderr
    assert machine.read(CAP) == FOUND
    assert agent.client.status().lease_holder is None
    frame = open_study(out)
    assert frame["asked.power.cap_w"].to_list() == [None, None, 60, 60, 80, 80, 100, 100]
    assert frame["effective.power.cap_w"].to_list() == frame["asked.power.cap_w"].to_list()
    assert frame["p99_us"].to_list() == pytest.approx([100, 100, 400, 400, 225, 225, 144, 144])
    assert frame.select("target", "vantage", "qps_offered").unique().rows() == [("agent", "client", 5000.0)]
    assert frame["started_at"].null_count() == 0
    assert frame["started_at"].n_unique() == 8
    by_time = frame.sort("started_at")["repeat"].to_list()
    assert by_time == [1] * 4 + [2] * 4, "every setting once, then every setting again"


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGTERM, marks=pytest.mark.slow), signal.SIGINT, signal.SIGKILL]
)
def test_an_interrupted_sweep_leaves_the_machine_as_it_was_and_goes_on(
    agent: AgentProcess, machine: Machine, tmp_path: Path, number: int
) -> None:
    out = tmp_path / "sweep.parquet"
    with subprocess.Popen(
        command(agent, out), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        # A setting that is not the default is in effect.
        trials = [next(line for line in process.stdout if '"trial"' in line)]
        while machine.read(CAP) == FOUND and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(number)
        rest, _ = process.communicate(timeout=30)
    patience_s = TTL_S + 5.0 if number == signal.SIGKILL else 0.0
    assert eventually(lambda: agent.client.status().lease_holder is None, within_s=patience_s)
    assert machine.read(CAP) == FOUND
    run = subprocess.run(command(agent, out), capture_output=True, text=True, timeout=90, check=False)
    assert run.returncode == 0, run.stderr
    trials += [line for line in [*rest.splitlines(), *run.stdout.splitlines()] if '"event": "trial"' in line]
    assert sorted(json.loads(line)["trial"] for line in trials) == list(range(1, 9))
    assert len(open_study(out)) == 8
    assert machine.read(CAP) == FOUND
