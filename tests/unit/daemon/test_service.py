"""A service's thread: what it does after trouble, when it is paused, and when it is ended."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import pytest
from tests.support.agents import AgentProcess, Machine
from tests.support.patience import eventually
from tests.support.services import Clients, service

from bayop.daemon import service as module
from bayop.daemon.file import DaemonFile
from bayop.daemon.report import Reporter
from bayop.daemon.service import Service
from bayop.daemon.turns import Turns
from bayop.errors import BayopError, InputError
from bayop.live.agent.client import AgentClient
from bayop.live.agent.lease import Lease
from bayop.live.agent.messages import AppliedBy, HeldKnob
from bayop.state.store import Store

# Whether seconds are kept shows on a machine that does nothing else.
pytestmark = pytest.mark.alone


class Kept:
    """A service whose events are noted."""

    def __init__(
        self, folder: Path, text: str, *, paused: bool = False, holder: str = "a test", turns: Turns | None = None
    ) -> None:
        path = folder / "bayop.toml"
        path.write_text(text, encoding="utf-8")
        self.events: list[Mapping[str, object]] = []
        self.store = Store(folder / "bayop.db")
        reporter = Reporter(self.store, lambda: 0.0, lambda _: None, self.events.append)
        (file,) = DaemonFile.read(path).services
        self.service = Service(file, self.store, reporter, holder=holder, turns=turns or Turns(), paused=paused)

    def of(self, name: str) -> list[Mapping[str, object]]:
        return [event for event in self.events if event["event"] == name]


@pytest.fixture
def clients(tmp_path: Path) -> Clients:
    return Clients(tmp_path / "clients")


@pytest.fixture
def kept(tmp_path: Path, agent: AgentProcess, machine: Machine, clients: Clients) -> Iterator[Kept]:  # noqa: ARG001
    kept = Kept(tmp_path, service(agent, clients, mode="observe"))
    yield kept
    kept.service.end()
    assert kept.service.join(10.0)
    kept.store.close()


@pytest.mark.parametrize("failure", [InputError(wrong="it is broken"), ValueError("it is broken")])
def test_after_trouble_it_waits_longer_each_time(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr(module, "_FIRST_PAUSE_S", 0.1)
    assert eventually(lambda: bool(kept.of("watching")), within_s=60)
    monkeypatch.setattr(module, "LivePlant", broken)
    kept.service.pause()
    assert eventually(lambda: not kept.service._wake.is_set(), within_s=5)
    kept.service._pause_s = 0.1
    kept.service.resume()
    assert eventually(lambda: len(kept.of("trouble")) >= 3, within_s=60)
    assert [event["again_in_s"] for event in kept.of("trouble")[:3]] == [0.1, 0.2, 0.4]
    assert "it is broken" in str(kept.of("trouble")[0]["message"])
    assert kept.service.lives()


def test_paused_it_does_nothing_until_it_is_resumed(
    tmp_path: Path, agent: AgentProcess, machine: Machine, clients: Clients
) -> None:
    kept = Kept(tmp_path, service(agent, clients), paused=True)
    assert not eventually(lambda: bool(kept.events), within_s=0.5)
    kept.service.resume()
    assert eventually(lambda: bool(kept.of("search")), within_s=60)
    assert eventually(lambda: machine.cap_w == 90, within_s=2)
    kept.service.pause()
    assert eventually(lambda: machine.cap_w == 120, within_s=1.5), "a second, and a busy machine is slow"
    kept.service.end()
    assert kept.service.join(5.0)
    assert not kept.service.lives()
    assert kept.of("trouble") == []
    kept.store.close()


@pytest.mark.parametrize("is_ours", [True, False])
def test_paused_from_its_begin_it_puts_back_what_an_earlier_process_of_its_state_has_left(
    tmp_path: Path, agent: AgentProcess, machine: Machine, clients: Clients, *, is_ours: bool
) -> None:
    """Another state's process, of the same user, may live."""
    lease = Lease(agent.client, holder="a test (pid 2), web", ttl_s=60.0)
    agent.client.apply({"power.cap_w": 60}, lease=lease.token)
    with Store(tmp_path / ("bayop.db" if is_ours else "other.db")) as store:
        store.add_event(0.0, None, "start", {"holder": "a test (pid 2)"})
    kept = Kept(tmp_path, service(agent, clients), paused=True, holder="a test (pid 1)")
    assert kept.service.lets_go(10.0)
    assert kept.service.knows_restored
    assert machine.cap_w == (120 if is_ours else 60)
    kept.service.end()
    assert kept.service.join(5.0)
    kept.store.close()


def test_a_machine_whose_agent_was_never_reached_is_not_known_to_be_restored(
    tmp_path: Path, agent: AgentProcess, clients: Clients
) -> None:
    text = service(agent, clients).replace("agent.sock", "nobody.sock")
    kept = Kept(tmp_path, text, paused=True)
    assert kept.service.lets_go(10.0)
    assert not kept.service.knows_restored
    kept.service.end()
    assert kept.service.join(5.0)
    assert not kept.service.find_out()
    kept.store.close()


@pytest.mark.parametrize(
    "left",
    [
        ("latched", None, False),
        ("latched", "alice", False),
        ("held", "alice", True),
        ("stood_down", None, True),
        ("held", "a test, web", False),
    ],
)
def test_what_is_held_without_us_is_somebody_else_s_unless_it_could_not_be_restored(
    tmp_path: Path,
    agent: AgentProcess,
    clients: Clients,
    monkeypatch: pytest.MonkeyPatch,
    left: tuple[str, str | None, bool],
) -> None:
    """State, holder, and whether the machine counts as restored. In the last case it may be a successor's of ours."""
    state, holder, restored = left
    status = agent.client.status()
    held = HeldKnob("power.cap_w", 70.0, 70.0, 120.0, state, None)  # type: ignore[arg-type]
    by = None if holder is None else AppliedBy(holder, 1.0)
    told = msgspec.structs.replace(status, held=(held,), applied_by=by)
    monkeypatch.setattr(AgentClient, "status", lambda _: told)
    kept = Kept(tmp_path, service(agent, clients), paused=True)
    assert kept.service.lets_go(10.0)
    assert kept.service.knows_restored == restored
    kept.service.end()
    assert kept.service.join(5.0)
    kept.store.close()


def test_in_quiet_hours_it_watches_and_can_not_be_had_to_search(
    tmp_path: Path, agent: AgentProcess, machine: Machine, clients: Clients
) -> None:
    text = service(agent, clients).replace("watch_s = 1", 'watch_s = 1\nquiet = ["00:00-12:00"]')
    kept = Kept(tmp_path, text)
    with pytest.raises(BayopError, match="web can't search now: quiet hours until 1970-01-01 12:00Z"):
        kept.service.trigger()
    assert eventually(lambda: bool(kept.of("window")), within_s=10)
    assert (kept.of("window")[0]["phase"], machine.cap_w) == ("default", 120)
    event = kept.service.standing(()).event()
    assert (event["doing"], event["setting"], event["restored"]) == ("default", None, True)
    assert (event["latency_us"], event["margin"], event["quiet_until"]) == (100, 0.5, "1970-01-01T12:00:00+00:00")
    kept.service.end()
    assert kept.service.join(5.0)
    assert [event["why"] for event in kept.of("halted")] == ["quiet"]
    kept.store.close()


def test_while_another_of_its_group_is_searched_it_waits_and_says_so(
    tmp_path: Path, agent: AgentProcess, machine: Machine, clients: Clients
) -> None:
    turns = Turns()
    other = turns.of("web2", group="web")
    assert other.take(is_asked=False)
    kept = Kept(tmp_path, service(agent, clients).replace("slo", 'group = "web"\nslo'), turns=turns)
    assert eventually(lambda: len(kept.of("window")) > 2, within_s=60)
    assert [event["waits_for"] for event in kept.of("waits")] == ["web2"], "once"
    assert {event["phase"] for event in kept.of("window")} == {"default"}
    event = kept.service.standing(()).event()
    assert (event["doing"], event["waits_for"], machine.cap_w) == ("default", "web2", 120)
    with pytest.raises(BayopError, match="web can't search now: web2 is searched, or was just now"):
        kept.service.trigger()
    other.clear()
    assert eventually(lambda: any(event["phase"] == "trial" for event in kept.of("window")), within_s=30)
    assert kept.service.standing(()).event()["waits_for"] is None
    agent.end(signal.SIGKILL)
    assert eventually(lambda: bool(kept.of("trouble")), within_s=30)
    assert not other.take(is_asked=False), "nobody knows what the machine has"
    agent.start()
    assert eventually(lambda: len(kept.of("watching")) > 1, within_s=60)
    kept.service.pause()
    assert kept.service.lets_go(10.0)
    assert other.take(is_asked=False)
    kept.service.end()
    assert kept.service.join(5.0)
    kept.store.close()


def test_who_only_observes_is_not_had_to_search(kept: Kept) -> None:
    with pytest.raises(BayopError, match="a service must be in mode apply to search"):
        kept.service.trigger()
    assert kept.service.standing(("stop file",)).event()["paused_by"] == ["stop file"]


def test_who_only_observes_does_not_take_another_s_setting_for_the_default(kept: Kept, agent: AgentProcess) -> None:
    assert eventually(lambda: bool(kept.of("watching")), within_s=60)
    lease = Lease(agent.client, holder="somebody else", ttl_s=60.0)
    agent.client.apply({"power.cap_w": 60}, lease=lease.token)
    assert eventually(lambda: any(event["phase"] == "other" for event in kept.of("window")), within_s=30)
    event = kept.service.standing(()).event()
    assert (event["doing"], event["setting"], event["restored"]) == ("other", None, False)
    lease.release(keep=False)


def test_what_can_not_be_held_is_not_searched_for_without_end(
    tmp_path: Path, agent: AgentProcess, machine: Machine, clients: Clients
) -> None:
    """The agent knows no such device, which it says when it is to hold."""
    band = "device = 'nic9'\nlow_packets_per_s = 1\nhigh_packets_per_s = 9"
    kept = Kept(tmp_path, service(agent, clients, more=band))
    assert eventually(lambda: len(kept.of("trouble")) >= 2, within_s=30)
    assert [event["again_in_s"] for event in kept.of("trouble")[:2]] == [1.0, 2.0]
    assert "nic9" in str(kept.of("trouble")[0]["message"])
    kept.service.end()
    assert kept.service.join(5.0)
    assert machine.cap_w == 120
    kept.store.close()
