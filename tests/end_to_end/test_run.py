"""`bayop run` with the real agent on a recorded machine: it searches, holds, follows the load, and lets go."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from jsonschema import Draft202012Validator
from tests.support.agents import CAP, NIC, AgentProcess, Machine
from tests.support.patience import eventually
from tests.support.schemas import closed
from tests.support.servers import free_port, memcached_on
from tests.support.services import Clients, service

from bayop.events import ERROR, EVENTS, schema
from bayop.live.agent.address import SOCKET
from bayop.machine.first_files import Inventory, Nic
from bayop.machine.first_service import first_service
from bayop.slo import Slo

# Whether seconds are kept shows on a machine that does nothing else.
pytestmark = pytest.mark.alone

LATEST_S = 60.0


class Run:
    """The daemon as a process, whose events are read as they come."""

    def __init__(self, file: Path, **environment: str) -> None:
        self._out, self._err = file.parent / "out", file.parent / "err"
        words = [sys.executable, "-m", "bayop", "run", str(file), "--json"]
        with self._out.open("w") as out, self._err.open("w") as err:
            self.process = subprocess.Popen(words, stdout=out, stderr=err, env=os.environ | environment)

    def events(self, name: str) -> list[dict[str, Any]]:
        """The events of a name so far."""
        lines = self._out.read_text(encoding="utf-8")
        whole = lines[: lines.rfind("\n") + 1].splitlines()
        return [event for event in map(json.loads, whole) if event["event"] == name]

    def until(self, name: str, *, count: int = 1, such: Callable[[dict[str, Any]], bool] = lambda _: True) -> Any:
        """The latest event of a name, once there are so many of them."""

        def found() -> list[dict[str, Any]]:
            return [event for event in self.events(name) if such(event)]

        assert eventually(lambda: len(found()) >= count, within_s=LATEST_S), self.said()
        return found()[-1]

    def said(self) -> str:
        """What people read."""
        return self._err.read_text(encoding="utf-8")

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(LATEST_S)


@contextmanager
def running(file: Path, **environment: str) -> Iterator[Run]:
    run = Run(file, **environment)
    try:
        yield run
    finally:
        if run.process.poll() is None:
            run.end(signal.SIGKILL)
        sys.stderr.write(run.said())
    validate(run)


@pytest.fixture
def clients(tmp_path: Path) -> Clients:
    return Clients(tmp_path / "clients")


@pytest.fixture
def file(tmp_path: Path, agent: AgentProcess, clients: Clients) -> Path:
    return written(tmp_path, service(agent, clients))


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "bayop.toml"
    path.write_text(f'stop_file = "stop"\n{text}', encoding="utf-8")
    return path


def cap_of(event: dict[str, Any]) -> Any:
    return event["setting"] and event["setting"]["power.cap_w"]


def tree_of(machine: Machine) -> tuple[str, str]:
    """The files that an agent may write."""
    return machine.read(CAP), machine.read(NIC)


def said(*words: str) -> list[dict[str, Any]]:
    """The events of a command, each as its verb declares it."""
    run = subprocess.run([sys.executable, "-m", "bayop", *words], capture_output=True, text=True, check=True)
    events = [json.loads(line) for line in run.stdout.splitlines()]
    validator = Draft202012Validator(closed(schema(words[0], EVENTS[words[0]])))
    for event in events:
        validator.validate(event)
    return events


def history(file: Path, *words: str) -> list[dict[str, Any]]:
    return said("history", str(file), "--json", *words)


def test_it_searches_holds_follows_the_load_and_leaves_the_machine_as_it_was(
    file: Path, agent: AgentProcess, machine: Machine, clients: Clients
) -> None:
    found = tree_of(machine)
    with running(file) as run:
        first = run.until("search")
        assert (first["reason"], cap_of(first)) == ("start", 90)
        assert eventually(lambda: machine.cap_w == 90, within_s=2)
        hold = agent.client.holding()
        assert hold is not None
        assert (hold.setting, hold.fall_back, hold.fell_back) == ({"power.cap_w": 90}, {}, None)
        lease = agent.client.status().lease
        assert lease is not None
        assert lease.expires_in_s <= 4.0, "as long as the file says"
        clients.send(7000)
        second = run.until("search", count=2)
        assert second["reason"] == "load +40%"
        assert cap_of(second) in (105, 110), "105 W takes 183 us of 200, which two windows may leave in doubt"
        assert second["trials"] <= first["trials"]
        assert run.end() == 0
        assert tree_of(machine) == found
        assert agent.client.status().held == ()
        assert run.until("stop")["restored"] is True


def test_advice_of_what_was_learned_touches_nothing_and_is_held_against_what_follows(
    file: Path, agent: AgentProcess, machine: Machine, clients: Clients
) -> None:
    text = file.read_text(encoding="utf-8")
    with running(file) as run:
        found = run.until("search")["setting"]
        assert run.end() == 0
    applied = agent.log().count("event=applied")
    file.write_text(text.replace('mode = "apply"', 'mode = "advise"'), encoding="utf-8")
    with running(file) as run:
        advice = run.until("advice")
        assert advice["setting"] == found
        assert advice["source"].endswith("of the state")
        assert advice["saving"]["low_w"] < 30 < advice["saving"]["high_w"]
        clients.send(7000)
        assert run.until("advice", count=2)["qps"] == 7000
        clients.send(5000)
        run.until("advice", count=3)
        assert run.end() == 0
    assert (machine.cap_w, agent.log().count("event=applied")) == (120, applied)
    file.write_text(text, encoding="utf-8")
    with running(file) as run:
        proven = run.until("advice-proven")
        assert abs(proven["errors"]["power_w"]) < 0.1
        assert run.end() == 0


def test_what_init_writes_is_advised_by_an_agent_that_allows_nothing(
    tmp_path: Path, agent_binary: Path, machine: Machine
) -> None:
    """A memcached that is probed, whose load the probe counts; test_package_brain.py has init itself."""
    nic = Nic("eth0", "ixgbe", has_default_route=True, rx_packets=9)
    knobs = {"nic.rx_usecs": {"eth0": (0.0, 1000.0, 1.0)}}
    port, file = free_port(), tmp_path / "bayop.toml"
    found = Inventory("web1", [nic], services=[("memcached", port)], knobs=knobs, findings=[])
    probe = f"probe:memcached://127.0.0.1:{port} --qps 2k"  # with fewer, a twin takes its time
    _, text = first_service(found, probe, Slo.parse("p50<1s"), "advise")
    with (
        memcached_on(port),
        AgentProcess(agent_binary, tmp_path, machine.root, mode="observe", allow={}) as agent,
    ):
        file.write_text(text.replace(f'"{SOCKET}"', f'"{agent.address}"') + "[service.memcached.policy]\nwatch_s = 1\n")
        assert said("run", str(file), "--check", "--json")[-1]["problems"] == []
        with running(file) as run:
            assert eventually(lambda: bool(run.events("advice") + run.events("no-advice")), within_s=LATEST_S), (
                run.said()
            )
            advice, *_ = run.events("advice") + run.events("no-advice")
            assert advice["source"] == "the twin linux-memcached"
            assert 500 < advice["qps"] < 4000, "the probe's own requests"
            assert run.end() == 0


def test_what_is_held_is_explained_and_history_becomes_a_table(
    file: Path, agent: AgentProcess, machine: Machine, clients: Clients
) -> None:
    del agent, machine, clients
    with running(file) as run:
        found = run.until("search")["setting"]
        assert run.end() == 0
    held, *others = said("explain", str(file), "web", "--json")
    assert (held["event"], held["setting"], held["search"]) == ("held", found, 1)
    changes_w = {event["slo"]: event["change_w"] for event in others if event["event"] == "slo"}
    assert changes_w["p99<160us"] > 0 > changes_w["p99<250us"], "a tighter SLO costs power, a looser one saves some"
    assert {event["knob"] for event in others if event["event"] == "alternative"} == {"power.cap_w"}
    table = file.with_name("windows.parquet")
    (written_,) = said("history", str(file), "--of", "window", "--out", str(table), "--json")
    assert written_["rows"] == len(said("history", str(file), "--of", "window", "--json"))
    assert "setting.power.cap_w" in pl.read_parquet(table).columns


def validate(run: Run) -> None:
    validator = Draft202012Validator(closed(schema("run", [*EVENTS["run"], ERROR])))
    for event in EVENTS["run"]:
        for line in run.events(event.name):
            validator.validate(line)


@pytest.mark.slow
def test_a_killed_brain_leaves_its_lease_and_a_restart_knows_what_was_learned(
    file: Path, agent: AgentProcess, machine: Machine
) -> None:
    found = tree_of(machine)
    with running(file) as run:
        trials = run.until("search")["trials"]
        assert trials >= 2
        assert eventually(lambda: machine.cap_w == 90, within_s=2)
        run.end(signal.SIGKILL)
    assert machine.cap_w == 90, "the lease goes on"
    assert eventually(lambda: tree_of(machine) == found, within_s=8), "until it ends"
    windows = history(file, "--of", "window")
    assert len([w for w in windows if w["phase"] == "trial"]) == trials
    with running(file) as run:
        again = run.until("search")
        assert (again["search"], cap_of(again)) == (2, 90)
        assert again["trials"] < trials
        assert run.end() == 0
    assert [s["number"] for s in history(file)] == [1, 2]
    assert tree_of(machine) == found
    assert agent.client.status().lease is None


@pytest.mark.slow
def test_a_search_that_was_killed_halfway_is_begun_anew_with_all_that_it_had_measured(
    file: Path, agent: AgentProcess, machine: Machine
) -> None:
    found = tree_of(machine)
    with running(file) as run:
        run.until("window", count=3, such=lambda window: window["phase"] == "trial")
        run.end(signal.SIGKILL)
        told, searches = run.events("window"), run.events("search")
    assert searches == []
    assert eventually(lambda: tree_of(machine) == found, within_s=12), "a trial's lease lasts ten seconds"
    assert history(file) == []
    kept = [(w["phase"], cap_of(w)) for w in history(file, "--of", "window")]
    assert kept[: len(told)] == [(w["phase"], cap_of(w)) for w in told]
    assert len(kept) <= len(told) + 1, "a window is remembered before it is told"
    with running(file) as run:
        search = run.until("search")
        assert (search["search"], search["stopped"], cap_of(search)) == (1, "converged", 90)
        again = [cap_of(w) for w in run.events("window") if w["phase"] == "trial"]
        assert set(again).isdisjoint(cap for phase, cap in kept if phase == "trial")
        assert run.end() == 0
    assert len(history(file)) == 1
    assert tree_of(machine) == found
    assert agent.client.status().lease is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(n, marks=pytest.mark.weekly) for n in range(3, 12))])
def test_killed_at_a_random_time_nothing_is_left_or_lost(
    file: Path, machine: Machine, clients: Clients, seed: int
) -> None:
    file.write_text(file.read_text(encoding="utf-8").replace("lease_s = 4", "lease_s = 2"), encoding="utf-8")
    found = tree_of(machine)
    with running(file) as run:
        run.until("watching")
        time.sleep(Random(seed).uniform(0.0, 8.0))
        clients.send(5000 + 500 * (seed % 5))
        time.sleep(Random(seed + 100).uniform(0.0, 2.0))
        run.end(signal.SIGKILL)
        said = run.events("window")
    assert eventually(lambda: tree_of(machine) == found, within_s=12), "a trial's lease lasts ten seconds"
    kept = history(file, "--of", "window", "--last", "100000")
    assert len(said) <= len(kept) <= len(said) + 1
    with running(file) as run:
        run.until("search")
        assert run.end() == 0
    assert tree_of(machine) == found


def test_a_second_signal_quits_at_once_and_leaves_the_rest_to_the_lease(
    file: Path, agent: AgentProcess, machine: Machine
) -> None:
    with running(file) as run:
        run.until("search")
        assert eventually(lambda: machine.cap_w == 90, within_s=2)
        agent.send(signal.SIGSTOP)
        run.process.send_signal(signal.SIGTERM)
        run.process.send_signal(signal.SIGTERM)  # as timeout(1) does: the same word, sent twice
        assert eventually(lambda: "again quits at once" in run.said(), within_s=2)
        time.sleep(1.2)
        assert run.process.poll() is None
        assert run.end() == -signal.SIGTERM
        agent.send(signal.SIGCONT)
    assert eventually(lambda: machine.cap_w == 120, within_s=8)


@pytest.mark.parametrize("reader", ["gone", "asleep"])
def test_it_needs_nobody_who_reads_what_it_says(reader: str, file: Path, machine: Machine) -> None:
    found = tree_of(machine)
    read_end, write_end = os.pipe()
    if reader == "gone":
        os.close(read_end)
    else:
        os.set_blocking(write_end, False)
        with suppress(BlockingIOError):
            while True:
                os.write(write_end, bytes(4096))
        os.set_blocking(write_end, True)
    words = [sys.executable, "-m", "bayop", "run", str(file), "--json"]
    with subprocess.Popen(words, stdout=write_end, stderr=write_end) as process:
        try:
            assert eventually(lambda: machine.cap_w == 90, within_s=LATEST_S)
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
        finally:
            process.kill()
    assert tree_of(machine) == found


def test_a_machine_that_can_not_be_restored_is_not_said_to_be(
    file: Path, agent: AgentProcess, machine: Machine
) -> None:
    with running(file) as run:
        run.until("search")
        assert eventually(lambda: machine.cap_w == 90, within_s=2)
        agent.end(signal.SIGKILL)
        assert run.end() == 3
        assert run.until("stop")["restored"] is False
    agent.start()
    assert eventually(lambda: machine.cap_w == 120, within_s=8)


def test_observing_writes_nothing(tmp_path: Path, agent: AgentProcess, machine: Machine, clients: Clients) -> None:
    found = tree_of(machine)
    with running(written(tmp_path, service(agent, clients, mode="observe"))) as run:
        window = run.until("window", count=2)
        assert (window["phase"], window["setting"], window["latency_us"]) == ("default", None, 100)
        status = agent.client.status()
        assert (status.lease, status.held, tree_of(machine)) == (None, (), found)
        assert run.end(signal.SIGINT) == 0
    assert "event=applied" not in agent.log()


def test_a_stop_file_brings_the_default_back_within_a_second(file: Path, machine: Machine) -> None:
    stop = file.parent / "stop"
    with running(file) as run:
        run.until("search")
        assert eventually(lambda: machine.cap_w == 90, within_s=2)
        stop.touch()
        assert eventually(lambda: machine.cap_w == 120, within_s=1.5), "a second, and a busy machine is slow"
        windows = len(run.events("window"))
        time.sleep(1.5)
        assert len(run.events("window")) == windows
        stop.unlink()
        assert eventually(lambda: machine.cap_w < 120, within_s=LATEST_S)
        assert run.end() == 0
    assert machine.cap_w == 120


@pytest.mark.slow
def test_a_lost_agent_and_a_dead_source_are_waited_for_and_other_services_go_on(
    tmp_path: Path, agent_binary: Path, agent: AgentProcess, machine: Machine, clients: Clients
) -> None:
    (tmp_path / "other").mkdir()
    with AgentProcess(agent_binary, tmp_path / "other", machine.root, mode="observe") as other:
        healthy = Clients(tmp_path / "healthy")
        file = written(tmp_path, service(agent, clients) + service(other, healthy, name="other", mode="observe"))
        with running(file) as run:
            run.until("search")
            agent.end(signal.SIGKILL)
            lost = run.until("trouble")
            assert lost["service"] == "web"
            agent.start()
            again = run.until("search", count=2)
            assert (again["reason"], cap_of(again)) == ("start", 90)
            clients.become("gone")
            dead = run.until("trouble", such=lambda event: "no client answers" in (event["hint"] or ""))
            assert "ended with exit code 1" in dead["message"]
            assert eventually(lambda: machine.cap_w == 120, within_s=2)
            clients.become("gone", so=False)
            run.until("search", count=3)
            assert {event["service"] for event in run.events("trouble")} == {"web"}
            others = [event for event in run.events("window") if event["service"] == "other"]
            assert len(others) >= 5
            assert run.end() == 0


def test_a_breach_while_holding_falls_back_beside_the_machine(
    tmp_path: Path, agent: AgentProcess, machine: Machine, clients: Clients
) -> None:
    file = written(tmp_path, service(agent, clients, more="silence_s = 3\nlatency_factor = 2"))
    with running(file) as run:
        run.until("search")
        assert eventually(lambda: machine.cap_w == 90, within_s=2)
        clients.become("slow")
        assert eventually(lambda: machine.cap_w == 120, within_s=1.5)
        window = run.until("window", such=lambda event: event["cut_short"] is not None)
        assert "1778 us" in window["cut_short"]
        assert not window["meets_slo"]
        run.until("search", count=2)
        assert run.end() == 0
    assert machine.cap_w == 120


def test_a_changed_file_is_taken_without_letting_go_of_what_has_not_changed(
    file: Path, agent: AgentProcess, machine: Machine, clients: Clients
) -> None:
    text, found = file.read_text(encoding="utf-8"), (machine.cap_w, tomllib.loads(machine.read(NIC)))
    with running(file) as run:
        run.until("search")
        assert eventually(lambda: machine.cap_w == 90, within_s=2)
        lease = agent.client.status().lease
        for count, nonsense in enumerate(("nonsense = 1\n", "a = " + 20_000 * "["), start=1):
            file.write_text(nonsense, encoding="utf-8")
            run.process.send_signal(signal.SIGHUP)
            run.until("not-reloaded", count=count)
        assert "there is no key 'nonsense'" in run.events("not-reloaded")[0]["message"]
        file.write_text(text + service(agent, clients, name="beside", mode="observe"), encoding="utf-8")
        run.process.send_signal(signal.SIGHUP)
        reloaded = run.until("reloaded")
        assert (reloaded["begun"], reloaded["ended"], reloaded["unchanged"]) == (["beside"], [], ["web"])
        run.until("window", such=lambda event: event["service"] == "beside")
        after = agent.client.status().lease
        assert lease is not None
        assert after is not None
        assert after.age_s > lease.age_s, "the same lease"
        assert len(run.events("watching")) == 2
        other_knobs = text.replace('"power.cap_w" =', '"nic.rx_usecs" = "10:100:30"\n"power.cap_w" =')
        file.write_text(other_knobs, encoding="utf-8")
        run.process.send_signal(signal.SIGHUP)
        assert "nic.rx_usecs" in run.until("search", count=2)["setting"]
        assert run.events("trouble") == []
        assert run.end() == 0
    assert (machine.cap_w, tomllib.loads(machine.read(NIC))) == found


def test_the_service_manager_is_told(file: Path, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(LATEST_S)
        with running(file, NOTIFY_SOCKET=str(tmp_path / "notify"), WATCHDOG_USEC="600000") as run:
            assert manager.recv(100) == b"READY=1"
            assert manager.recv(100) == b"WATCHDOG=1"
            assert manager.recv(100) == b"WATCHDOG=1"
            assert run.end() == 0
            rest = b""
            while rest != b"STOPPING=1":
                rest = manager.recv(100)


def test_a_second_bayop_does_not_write_the_same_state(file: Path) -> None:
    with running(file) as run:
        run.until("watching")
        second = subprocess.run(
            [sys.executable, "-m", "bayop", "run", str(file)], capture_output=True, text=True, check=False
        )
        assert second.returncode == 2
        assert "another process writes" in second.stderr
        assert run.end() == 0
