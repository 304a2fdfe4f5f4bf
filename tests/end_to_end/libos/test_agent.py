"""The agent's API on the library OS: what it answers, and a search through it."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from numpy.typing import NDArray
from tests.pages.blocks import ROOT, blocks_of
from tests.support.patience import eventually
from tests.support.servers import load, result_of

from bayop.cli import main
from bayop.errors import InputError, UnsupportedError
from bayop.interrupts.capture import read_source
from bayop.live.agent.client import AgentClient
from bayop.live.agent.transport import ConflictError, UnreachableError
from lab.libos import LibraryOs

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("libos_image")]

DESCRIPTION: Final = json.loads((ROOT / "docs" / "reference" / "agent-openapi.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def machine() -> Iterator[LibraryOs]:
    """A memcached behind an e1000e, with an agent; it must outlive the tests."""
    with LibraryOs("memory=16 agent=on", nic="e1000e") as machine:
        yield machine
        assert machine.is_up, machine.console


@pytest.fixture
def agent(machine: LibraryOs) -> Iterator[AgentClient]:
    """Its agent; the machine has its own settings before and after."""
    client = AgentClient.at(str(machine.agent))
    yield client
    client.restore()
    assert client.status().held == ()


def described(name: str, answer: object) -> None:
    """Holds an answer against what the agent on Linux says of its own, which also knows what it costs itself."""
    description: dict[str, Any] = deepcopy(DESCRIPTION)
    description["components"]["schemas"]["Status"]["required"].remove("own")
    Draft202012Validator({**description, "$ref": f"#/components/schemas/{name}"}).validate(answer)


def test_it_answers_as_the_agent_on_linux_is_described(machine: LibraryOs, agent: AgentClient) -> None:
    def ask(path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310 -- our own machine
            f"{machine.agent}{path}", data, {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            return json.load(answer)

    lease = ask("/v1/lease", {"holder": "a test", "ttl_s": 10})
    described("Lease", lease)
    described("Applied", ask("/v1/apply", {"setting": {"idle.wait": "poll"}, "dry_run": True}))
    described("Applied", ask("/v1/apply", {"lease": lease["lease"], "setting": {"nic.rx_usecs": 500}}))
    described("Renewed", ask("/v1/lease/renew", {"lease": lease["lease"]}))
    described("Holding", ask("/v1/hold"))
    described("Calibrations", ask("/v1/calibration"))
    described("Status", ask("/v1/status"))
    described("Knobs", knobs := ask("/v1/knobs"))
    assert [knob["id"] for knob in knobs["knobs"]] == ["nic.rx_usecs", "idle.wait"], "a single core has no others"
    described("Readings", ask("/v1/sensors"))
    described("Released", ask("/v1/release", {"lease": lease["lease"]}))
    described("Released", ask("/v1/restore", {}))
    with pytest.raises(urllib.error.HTTPError) as caught:
        ask("/v1/apply", {"setting": {}})
    described("Failure", json.load(caught.value))
    assert agent.holding() is None


def test_a_setting_reaches_the_nic_and_goes_with_its_lease(machine: LibraryOs, agent: AgentClient) -> None:
    """A request waits for its interrupt, and half of them longer than a quarter of the delay."""

    def p50_us() -> float:
        words = ["-s", machine.address(11211), "-q", "500", "-t", "1s", "-w", "0.2s", "-r", "100", "--json"]
        latency = result_of(load(*words))["latency"]
        return next(float(row["value_us"]) for row in latency if row["quantile"] == 0.5)

    assert p50_us() < 4000
    lease = agent.acquire("a test", ttl_s=30)
    assert agent.apply({"nic.rx_usecs": 16_000}, lease=lease).setting == {"nic.rx_usecs": 16_000}
    assert 4000 < p50_us() < 16_000
    agent.renew(lease, timeout_s=5, ttl_s=2)
    assert eventually(lambda: agent.status().held == (), within_s=10)
    assert p50_us() < 4000
    with pytest.raises(ConflictError, match="the lease is over"):
        agent.apply({"nic.rx_usecs": 0}, lease=lease)


def test_what_it_counts_is_what_it_does(agent: AgentClient) -> None:
    def counts() -> dict[str, float]:
        return {reading.name: reading.value or 0.0 for reading in agent.sensors()}

    def counted(duration_s: float) -> dict[str, float]:
        before = counts()
        time.sleep(duration_s)
        return {name: value - before[name] for name, value in counts().items()}

    asleep = counted(1.0)
    assert asleep["cpu_idle_s"] > 5 * asleep["cpu_busy_s"]
    assert asleep["interrupts"] < 100
    lease = agent.acquire("a test", ttl_s=30)
    agent.apply({"idle.wait": "poll"}, lease=lease)
    awake = counted(1.0)
    assert awake["cpu_busy_s"] > 0.9
    assert (awake["idle_usage"], awake["cpu_idle_s"], awake["interrupts"]) == (0, 0, 0)
    assert awake["energy_j"] > 1.5 * asleep["energy_j"]


def test_its_log_has_every_interrupt_and_every_packet_that_it_has_counted(
    machine: LibraryOs, agent: AgentClient
) -> None:
    def counts() -> dict[str, float]:
        return {reading.name: reading.value or 0.0 for reading in agent.sensors()}

    def next_record() -> int:
        head, _, _ = agent.interrupts("nic0", 2**63).partition(b"\n")
        return int(json.loads(head)["next"])

    number = first = next_record()
    before = counts()
    load("-s", machine.address(11211), "-q", "2000", "-t", "2s", "-r", "100", "--noload", "--json")
    after, end = counts(), next_record()
    parts: list[NDArray[np.void]] = []
    while number < end:
        answer = io.BytesIO(agent.interrupts("nic0", number))
        source = read_source(answer, "agent")
        parts.append(np.frombuffer(answer.read(), source.record))
        number += len(parts[-1])
    log = np.concatenate(parts)[: end - first]
    for counter, column in (
        ("nic_rx_packets", "rx_packets"), ("nic_rx_bytes", "rx_bytes"), ("nic_tx_packets", "tx_packets"),
        ("nic_tx_bytes", "tx_bytes"),
    ):  # fmt: skip
        counted = after[counter] - before[counter]
        assert counted > 100
        # The questions for the counts and for the log are in it, or some packets of them.
        assert 0 <= int(log[column].sum()) - counted < (60 if column.endswith("packets") else 60 * 1514), counter
    assert 0 <= len(log) - (after["interrupts"] - before["interrupts"]) < 30


def test_its_log_is_recorded_and_shown_as_any_other(
    machine: LibraryOs, agent: AgentClient, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lease = agent.acquire("a test", ttl_s=30)
    agent.apply({"nic.rx_usecs": 1000}, lease=lease)
    words = ["interrupts", "record", "--agent", str(machine.agent), "--device", "nic0", "--duration", "2s"]
    with ThreadPoolExecutor() as pool:
        run = pool.submit(load, "-s", machine.address(11211), "-q", "1000", "-t", "4s", "-r", "100", "--noload")
        time.sleep(1)
        assert main([*words, "--out", str(tmp_path), "--json"]) == 0
        run.result()
    told = json.loads(capsys.readouterr().out)
    assert (told["logs"], told["lost"], told["duration_s"]) == (["nic0.parquet"], 0, pytest.approx(2, abs=0.5))
    assert main(["interrupts", "show", str(tmp_path / "nic0.parquet"), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["records"], shown["layout"]) == (told["records"], "library OS, nic0")
    assert 900 < shown["spacing"]["p50_us"] < 1300, "the NIC waits as it was told"


def test_one_writer_at_a_time_and_nothing_that_it_does_not_take(agent: AgentClient) -> None:
    lease = agent.acquire("a test", ttl_s=30)
    with pytest.raises(ConflictError, match="a test holds the lease"):
        agent.acquire("another", ttl_s=30)
    with pytest.raises(InputError, match=r"nic\.rx_usecs must be a whole number, 0 to 16000"):
        agent.apply({"idle.wait": "poll", "nic.rx_usecs": 16_001}, lease=lease)
    assert agent.status().held == ()
    with pytest.raises(UnsupportedError, match="the library OS's agent has no GET /v1/doctor"):
        agent.doctor()


def test_without_the_word_nobody_answers(memcached_os: LibraryOs) -> None:
    assert memcached_os.agent is None
    with pytest.raises(UnreachableError):
        AgentClient.at(f"http://{memcached_os.address(9617)}").status()


@pytest.mark.alone
def test_the_page_is_right(machine: LibraryOs, agent: AgentClient, tmp_path: Path) -> None:
    """docs/libos.md, but for the ports, which are other ones each time, and an SLO that a busy machine keeps too."""

    def here(text: str) -> str:
        text = text.replace("p90<2ms", "p50<4ms")
        text = re.sub(r"http://127\.0\.0\.1:\d+", str(machine.agent), text)
        return re.sub(r'"127\.0\.0\.1:\d+"', f'"{machine.address(11211)}"', text)

    blocks = blocks_of(ROOT / "docs" / "libos.md")
    file = next(block for block in blocks if block.file == "live.toml")
    (tmp_path / "live.toml").write_text(here(file.text), encoding="utf-8")
    steps = [step for block in blocks if "run by" in block.clauses for step in block.steps()]
    assert steps.pop(0).command == "bayop libos run --nic e1000e agent=on"
    for step in steps:
        words = [sys.executable, "-m", *shlex.split(here(step.command))]
        run = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert run.returncode == 0, step.command + run.stdout + run.stderr
        if words[3] == "tune":
            assert "It saves " in run.stdout, run.stdout
    assert agent.status().held == ()
