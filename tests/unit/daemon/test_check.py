from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.agents import AgentProcess, Machine
from tests.support.services import Clients, service
from tests.unit.state.test_store import break_page

from bayop.daemon.check import Finding, check
from bayop.daemon.file import DaemonFile
from bayop.live.agent.lease import Lease
from bayop.measurement import Measurement
from bayop.optimize.base import Observation
from bayop.state import schema
from bayop.state.store import Store


@pytest.fixture
def clients(tmp_path: Path) -> Clients:
    return Clients(tmp_path / "clients")


def finding(tmp_path: Path, text: str) -> Finding:
    path = tmp_path / "bayop.toml"
    path.write_text(text, encoding="utf-8")
    (found,) = check(DaemonFile.read(path))
    return found


def line_of(text: str, begin: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if line.startswith(begin))


def test_what_would_be_done_is_said_and_nothing_written(
    tmp_path: Path, agent: AgentProcess, machine: Machine, clients: Clients
) -> None:
    found = finding(tmp_path, service(agent, clients))
    assert found.problems == []
    assert "would search power.cap_w 60W to 120W in steps of 5W" in found.would[0]
    assert "without bayop for 4 s at most" in found.would[1]
    assert (found.seen["p99_us"], found.notes) == (100, [])
    found = finding(tmp_path, service(agent, clients, mode="observe"))
    assert found.problems == []
    assert "write nothing" in found.would[0]
    assert "event=applied" not in agent.log()
    assert machine.cap_w == 120


def test_advice_is_made_of_something(tmp_path: Path, agent: AgentProcess, machine: Machine, clients: Clients) -> None:
    text = service(agent, clients, mode="advise")
    found = finding(tmp_path, text)
    assert len(found.problems) == 1
    assert "the state knows nothing of what settings of web do" in found.problems[0].message
    assert f"bayop.toml:{line_of(text, 'mode')}" in found.problems[0].message
    assert "advise_from" in (found.problems[0].hint or "")
    seen = Measurement({"power_w": 90.0, "p99_us": 178.0})
    with Store(tmp_path / "bayop.db") as store:
        store.add_observation("web", Observation({"power.cap_w": 90}, seen, 5000.0))
        found = finding(tmp_path, text)
    assert found.problems == []
    assert found.would[1] == "would make advice of 1 observation of the state"
    assert "event=applied" not in agent.log()
    assert machine.cap_w == 120


def test_advice_needs_no_knob_that_the_agent_allows(
    tmp_path: Path, agent_binary: Path, machine: Machine, clients: Clients
) -> None:
    with AgentProcess(agent_binary, tmp_path, machine.root, mode="observe", allow={}) as agent:
        named = 'twin = "linux-memcached"\nmode = "advise"'
        text = service(agent, clients, mode="advise").replace('mode = "advise"', named)
        found = finding(tmp_path, text)
        assert (found.problems, found.would[1]) == ([], "would make advice of the twin linux-memcached")
        (problem,) = finding(tmp_path, text.replace('mode = "advise"', 'mode = "apply"')).problems[1:]
        assert "power.cap_w is not on the agent's allow-list" in problem.message
        (problem,) = finding(tmp_path, text.replace('[service.web.knobs]\n"power.cap_w" = "60:120:5"\n', "")).problems
        assert "name those that the search would be about" in str(problem.hint)


def test_what_may_surprise_is_noted(tmp_path: Path, agent: AgentProcess, clients: Clients) -> None:
    lease = Lease(agent.client, holder="alice")
    found = finding(tmp_path, service(agent, clients, more="silence_s = 0.5"))
    lease.release(keep=False)
    assert found.problems == []
    assert "alice holds the agent's lease" in found.notes[0]
    assert "silence_s 0.5 is no longer than watch_s 1" in found.notes[1]


def test_who_is_not_searched_at_once_is_said(tmp_path: Path, agent: AgentProcess, clients: Clients) -> None:
    path = tmp_path / "bayop.toml"
    texts = [service(agent, clients, name=name, mode="observe") for name in ("web1", "web2", "db")]
    path.write_text("".join(texts).replace("slo", 'group = "web"\nslo', 2), encoding="utf-8")
    web1, web2, db = check(DaemonFile.read(path))
    assert web1.would[1] == web2.would[1] == "of the group web one is searched at a time: web1, web2"
    assert (len(db.would), web1.notes) == (1, [])
    alone = finding(tmp_path, texts[0].replace("slo", 'group = "wbe"\nslo'))
    assert (len(alone.would), alone.notes) == (1, ["no other service is of the group wbe"])


def test_a_stop_file_is_noted(tmp_path: Path, agent: AgentProcess, clients: Clients) -> None:
    (tmp_path / "stop").touch()
    found = finding(tmp_path, 'stop_file = "stop"\n' + service(agent, clients))
    assert (found.problems, found.notes) == ([], [f"{tmp_path}/stop is there: nothing is searched or held while it is"])


def test_the_device_of_a_hold_must_be_there(tmp_path: Path, agent: AgentProcess, clients: Clients) -> None:
    band = 'device = "eth9"\nlow_packets_per_s = 1\nhigh_packets_per_s = 9\n'
    text = service(agent, clients, more=band)
    (problem,) = finding(tmp_path, text).problems
    assert "there is no network device eth9" in problem.message
    assert f"bayop.toml:{line_of(text, 'device')}" in problem.message
    assert str(problem.hint).startswith("network devices: ")


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("nowhere/bayop.db", "there is no folder"),
        ("bayop.toml", "cannot read"),
    ],
)
def test_a_state_that_can_t_be_kept_is_said(
    tmp_path: Path, agent: AgentProcess, clients: Clients, state: str, message: str
) -> None:
    (problem,) = finding(tmp_path, f'state = "{state}"\n' + service(agent, clients)).problems
    assert message in problem.message
    assert "bayop.toml:1" in problem.message


@pytest.mark.parametrize("suffix", ["-wal", "-shm", ".lock", ".sock"])
def test_a_file_beside_the_state_that_can_t_be_used_is_said(
    tmp_path: Path, agent: AgentProcess, clients: Clients, suffix: str
) -> None:
    (tmp_path / f"bayop.db{suffix}").mkdir()
    (problem,) = finding(tmp_path, service(agent, clients)).problems
    assert f"cannot write {tmp_path}/bayop.db{suffix}: it is a folder" in problem.message


@pytest.mark.parametrize(
    ("state", "message"), [("bayop.db", "it must be a socket, or not there"), ("x" * 100, "at most 107 bytes")]
)
def test_a_socket_that_can_t_be_made_is_said(
    tmp_path: Path, agent: AgentProcess, clients: Clients, state: str, message: str
) -> None:
    (tmp_path / "bayop.db.sock").touch()
    (problem,) = finding(tmp_path, f'state = "{state}"\n' + service(agent, clients)).problems
    assert message in problem.message


def test_a_state_with_damaged_pages_is_said(tmp_path: Path, agent: AgentProcess, clients: Clients) -> None:
    break_page(tmp_path / "bayop.db")
    (problem,) = finding(tmp_path, service(agent, clients)).problems
    assert f"{tmp_path}/bayop.db is damaged: " in problem.message
    assert "sqlite3 OLD.db .recover" in str(problem.hint)


def test_a_state_that_would_be_brought_up_to_date_is_no_problem(
    tmp_path: Path, agent: AgentProcess, clients: Clients
) -> None:
    (tmp_path / "bayop.db").touch()
    found = finding(tmp_path, service(agent, clients))
    assert (found.problems, found.notes) == ([], [])
    with closing(sqlite3.connect(tmp_path / "bayop.db")) as older:
        older.executescript(f"{schema._FIRST} PRAGMA user_version = 1;")
    for mode in ("apply", "advise"):
        found = finding(tmp_path, service(agent, clients, mode=mode))
        assert found.notes == [f"{tmp_path}/bayop.db is of version 1: bayop run brings it up to version 2"]
    (problem,) = found.problems
    assert "the state knows nothing of what settings of web do" in problem.message


def test_what_the_agent_does_not_guard_is_noted(tmp_path: Path, agent: AgentProcess, clients: Clients) -> None:
    text = service(agent, clients, more="silence_s = 5").replace("p99<200us", "p99<200us,p50<100us")
    found = finding(tmp_path, text)
    assert found.notes == ["the agent guards p99 alone: p50 is looked at when a window of 1 s has ended"]
    assert "does not measure p50_us" in str(found.problems[0])


@pytest.mark.parametrize(
    ("change", "line", "message"),
    [
        (("agent.sock", "nobody.sock"), "agent", "no agent listens"),
        (("power.cap_w", "cpu.freq_mhz"), '"cpu.freq_mhz"', "the machine has no cpu.freq_mhz"),
        (("60:120:5", "60:500:5"), '"power.cap_w"', "power.cap_w must be 60W to 120W"),
        (("p99<200us", "p90<200us"), "slo", "does not measure p90_us"),
    ],
)
def test_what_is_missing_has_its_place(
    tmp_path: Path, agent: AgentProcess, change: tuple[str, str], line: str, message: str
) -> None:
    text = service(agent, Clients(tmp_path / "clients")).replace(*change)
    found = finding(tmp_path, text)
    assert len(found.problems) == 1
    assert message in found.problems[0].message
    assert f"bayop.toml:{line_of(text, line)}" in found.problems[0].message
    assert "what the agent allows" not in found.would[0]


def test_a_source_that_fails_and_an_agent_that_only_looks_are_both_said(
    tmp_path: Path, agent_binary: Path, machine: Machine, clients: Clients
) -> None:
    clients.become("gone")
    (tmp_path / "looks").mkdir()
    with AgentProcess(agent_binary, tmp_path / "looks", machine.root, mode="observe") as agent:
        text = service(agent, clients)
        found = finding(tmp_path, text)
    assert ["the agent is in mode observe" in found.problems[0].message, len(found.problems)] == [True, 2]
    assert f"bayop.toml:{line_of(text, 'mode')}" in found.problems[0].message
    assert f"bayop.toml:{line_of(text, 'latency')}" in found.problems[1].message
    assert found.problems[1].hint == "no client answers"
