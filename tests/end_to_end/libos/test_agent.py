"""The agent's API on the library OS: what it answers, and a search through it."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import pytest
from jsonschema import Draft202012Validator
from tests.support.patience import eventually
from tests.support.servers import load, result_of

from bayop.cli import main
from bayop.errors import InputError, UnsupportedError
from bayop.live.agent.client import AgentClient
from bayop.live.agent.transport import ConflictError, UnreachableError
from lab.libos import LibraryOs

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("libos_image")]

ROOT: Final = Path(__file__).resolve().parents[3]
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
    described("Knobs", ask("/v1/knobs"))
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


def test_a_search_finds_fewer_interrupts_within_the_slo(
    machine: LibraryOs, agent: AgentClient, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "live.toml"
    file.write_text(
        f'agent = "{machine.agent}"\n[knobs]\n"nic.rx_usecs" = "0:8000:200"\n'
        f'[load]\nserver = "{machine.address(11211)}"\nqps = 1000\nthreads = 1\nconnections = 4\n'
        "[window]\nwindow_s = 0.5\nsettle_s = 0.1\n",
        encoding="utf-8",
    )
    words = ["--slo", "p50<3ms", "--headroom", "0.2", "--objective", "interrupts_per_s / qps", "--max-trials", "6"]
    assert main(["tune", "--target", str(file), *words, "--confirm", "6", "--json"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    result = next(event for event in events if event["event"] == "result")
    assert result["setting"]["nic.rx_usecs"] != "auto"
    assert result["saving"]["verdict"] == "saves", result
    assert agent.status().held == ()
