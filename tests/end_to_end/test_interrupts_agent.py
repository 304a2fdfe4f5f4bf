"""Interrupts that an agent has recorded, by the real recorder, started for a connection as systemd does."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.end_to_end.test_interrupts_record import send, statistics
from tests.pages.blocks import ROOT, blocks_of
from tests.support.agents import AgentProcess, bare_root
from tests.support.ebpf import attached_programs, listening
from tests.support.needs import need
from tests.support.patience import eventually

from bayop.cli import main
from bayop.experiments.rig.veth import VethPair

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

UNITS = ROOT / "packaging" / "recorder"


@pytest.fixture(scope="module")
def pair() -> Iterator[VethPair]:
    """A server's device and its clients' namespace."""
    need("namespaces")
    with VethPair() as pair:
        yield pair


@pytest.fixture
def agent(agent_binary: Path, interrupts_recorder: Path, pair: VethPair, tmp_path: Path) -> Iterator[AgentProcess]:
    path, root = tmp_path / "recorder.sock", bare_root(tmp_path)
    recorder = pair.server.command([str(interrupts_recorder), "--device", "-", "--duration-s", "2592000"])
    quota = f'[interrupts]\nrecorder = "{path}"\ndevices = ["{pair.device}", "no0"]\n'
    with (
        listening(path, recorder),
        AgentProcess(agent_binary, tmp_path, root, mode="observe", allow={}, more=quota) as agent,
    ):
        yield agent


def test_what_an_agent_has_recorded_is_what_the_kernel_counts(
    agent: AgentProcess, interrupts_recorder: Path, pair: VethPair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "logs"
    words = ["interrupts", "record", "--agent", agent.address, "--device", pair.device, "--duration", "8s", "--json"]
    with ThreadPoolExecutor() as pool:
        recording = pool.submit(main, [*words, "--out", str(out)])
        assert eventually(lambda: attached_programs(interrupts_recorder.name) > 0, within_s=20)
        before = statistics(pair)
        send(pair)
        after = statistics(pair)
        assert recording.result() == 0
    (event,) = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (event["polls"], event["lost"]) == (True, 0)
    logs = [pl.read_parquet(out / name) for name in event["logs"]]
    received = sum(int(log["rx_descriptors"].sum()) for log in logs)
    assert received == pytest.approx(after["rx"]["packets"] - before["rx"]["packets"], rel=0.001, abs=8)
    # Nobody asks any more.
    assert eventually(lambda: attached_programs(interrupts_recorder.name) == 0, within_s=20)


def test_the_page_is_right_and_an_agent_that_ends_leaves_nothing_attached(
    agent: AgentProcess, interrupts_recorder: Path, pair: VethPair, tmp_path: Path
) -> None:
    """docs/interrupts.md, but for another socket, device and time."""
    blocks = blocks_of(ROOT / "docs" / "interrupts.md")
    steps = [step for block in blocks if "run by" in block.clauses for step in block.steps()]
    assert [step.command.split()[2] for step in steps] == ["record", "watch"]
    events: list[Any] = []
    for step in steps:
        here = {"unix:/run/bayop/agent.sock": agent.address, "eth0": pair.device, "10s": "3s"}
        words = [here.get(word, word) for word in step.command.split()]
        command = [sys.executable, "-m", *words, "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as recording:
            send(pair)
            events = [json.loads(line) for line in (recording.communicate(timeout=60)[0]).splitlines()]
        assert recording.returncode == 0
    assert max(queue["interrupts_per_s"] for moment in events for queue in moment["queues"]) > 100
    assert len(list((tmp_path / "logs").iterdir())) > 0
    assert attached_programs(interrupts_recorder.name) > 0
    agent.end(signal.SIGKILL)
    assert eventually(lambda: attached_programs(interrupts_recorder.name) == 0, within_s=10)


@pytest.mark.parametrize(
    ("device", "message"),
    [("eth9", "device must be one of interrupts.devices: server"), ("no0", "the recorder has ended")],
)
def test_what_it_does_not_record_is_one_error(
    agent: AgentProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str], device: str, message: str
) -> None:
    words = ["interrupts", "record", "--agent", agent.address, "--device", device, "--out", str(tmp_path / "logs")]
    assert main(words) != 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("error: ")) == ("", 1)
    assert message in captured.err


def test_systemd_takes_every_line_of_its_units(tmp_path: Path) -> None:
    need("systemd-analyze")
    units = []
    for unit in UNITS.iterdir():
        text = unit.read_text(encoding="utf-8")
        units.append(tmp_path / unit.name)
        units[-1].write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", text, flags=re.MULTILINE))
    run = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *map(str, units)], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout + run.stderr) == (0, "")
