"""Services as an operator has them: mostly no agent answers here, which keeps nobody from pausing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.support.agents import AgentProcess, Machine
from tests.support.patience import eventually
from tests.support.services import Clients, service

from bayop.daemon.file import DaemonFile, ServiceFile
from bayop.daemon.halts import Halts
from bayop.daemon.report import Reporter
from bayop.daemon.services import Changes, Services
from bayop.errors import InputError
from bayop.state.store import StateError, Store

FILE = """
[service.{name}]
agent = "unix:/nobody/{name}.sock"
latency = "./p99.sh"
slo = "p99<500us"
"""


def files(tmp_path: Path, *names: str, more: str = "") -> tuple[ServiceFile, ...]:
    path = tmp_path / "bayop.toml"
    path.write_text("".join(FILE.format(name=name) for name in names) + more, encoding="utf-8")
    return DaemonFile.read(path).services


@contextmanager
def kept(tmp_path: Path, *names: str) -> Iterator[tuple[Services, Store, Callable[[], list[tuple[object, object]]]]]:
    """Services that have begun, their state, and their words of an operator."""
    events: list[Mapping[str, object]] = []
    with Store(tmp_path / "bayop.db") as store:
        reporter = Reporter(store, lambda: 0.0, lambda _: None, events.append)
        services = Services(files(tmp_path, *names), store, reporter, holder="a test")
        services.begin()
        yield services, store, lambda: [(e["event"], e["service"]) for e in events if e["event"] != "trouble"]
        assert services.end()


def doing(events: list[dict[str, object]]) -> dict[object, tuple[object, object]]:
    return {event["service"]: (event["doing"], event["paused_by"]) for event in events}


def test_one_is_paused_and_stays_so_after_a_restart_and_under_another_file(tmp_path: Path) -> None:
    with kept(tmp_path, "web", "db") as (services, _, said):
        assert doing(services.pause(["web"], "root")) == {"web": ("paused", ["operator"])}
        assert said() == [("paused", "web")]
        assert doing(services.standings(["db"]))["db"][1] == []
    with kept(tmp_path, "web", "db") as (services, _, said):
        changed = files(tmp_path, "web", "db", more="[service.db.policy]\nwatch_s = 9\n")
        assert services.take(changed) == Changes(["db"], ["db"], ["web"])
        assert services.take(files(tmp_path, "db")) == Changes(["db"], ["web", "db"], [])
        assert services.take(files(tmp_path, "web", "db")) == Changes(["web"], [], ["db"])
        assert doing(services.standings(["web"]))["web"][1] == ["operator"]
        services.resume(["web"], "root")
        assert said() == [("resumed", "web")]
    with kept(tmp_path, "web") as (services, _, _said):
        assert doing(services.standings(["web"]))["web"][1] == []


def test_who_is_resumed_is_not_paused_any_more_and_who_was_not_paused_is_not_resumed(tmp_path: Path) -> None:
    with kept(tmp_path, "web", "db") as (services, _, said):
        services.pause(["web"], "root")
        assert services.paused == ["web"]
        told = doing(services.resume(["web", "db"], "root"))
        assert told["web"] in (("beginning", []), ("trouble", []))
        services.resume(["web"], "root")
        assert said() == [("paused", "web"), ("resumed", "web")]


def test_the_stop_file_and_an_operator_pause_each_for_themselves(tmp_path: Path) -> None:
    with kept(tmp_path, "web") as (services, _, _said):
        services.stop(so=True)
        assert doing(services.pause(["web"], "root"))["web"] == ("paused", ["operator", "stop file"])
        assert doing(services.resume(["web"], "root"))["web"] == ("paused", ["stop file"])
        services.stop(so=False)
        assert doing(services.standings(["web"]))["web"][1] == []


def test_a_file_that_is_not_taken_leaves_everybody_where_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(_: object, name: str) -> bool:
        raise StateError(wrong=f"cannot read what is known of {name}", place="bayop.db")

    with kept(tmp_path, "web") as (services, _, _said):
        with monkeypatch.context() as patch:
            patch.setattr(Store, "is_paused", unreadable)
            with pytest.raises(StateError, match="cannot read"):
                services.take(files(tmp_path, "db"))
        assert services.named(None) == ["web"]
        assert doing(services.pause(["web"], "root")) == {"web": ("paused", ["operator"])}


def test_an_address_that_was_mended_counts_no_more(tmp_path: Path) -> None:
    applied = FILE.format(name="web").replace("slo", 'mode = "apply"\nslo')
    wrong = f'{applied}[service.web.knobs]\n"power.cap_w" = "60:120:5"\n'
    with kept(tmp_path, "db") as (services, _, _said):
        services.take(files(tmp_path, "db", more=wrong))
        services.take(files(tmp_path, "web", "db"))


def test_who_is_meant_must_be_there(tmp_path: Path) -> None:
    with kept(tmp_path, "web", "db") as (services, _, _said):
        assert services.named(None) == ["web", "db"]
        with pytest.raises(InputError, match="there is no service 'wbe'") as caught:
            services.named("wbe")
        assert caught.value.hint == "did you mean web?"


def test_a_state_that_can_not_be_written_keeps_nobody_from_pausing(tmp_path: Path) -> None:
    with kept(tmp_path, "web") as (services, store, _said):
        store.close()
        with pytest.raises(StateError, match="cannot write") as caught:
            services.pause(["web"], "root")
        assert caught.value.hint == "it is paused, until bayop run ends"
        assert doing(services.standings(["web"]))["web"][1] == ["operator"]
        with pytest.raises(StateError, match="cannot write"):
            services.resume(["web"], "root")
        assert doing(services.standings(["web"]))["web"][1] == ["operator"]
        with pytest.raises(StateError, match="cannot write"):
            services.forget("web", "root")


def test_one_whose_standing_can_not_be_told_keeps_nobody_from_hearing_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget_left = Halts.budget_left

    def fails(halts: Halts, now_s: float) -> float | None:
        if halts._file.name == "web":
            raise ValueError("year 10000 is out of range")
        return budget_left(halts, now_s)

    with kept(tmp_path, "web", "db") as (services, _, _said):
        services.pause(["web", "db"], "root")
        monkeypatch.setattr(Halts, "budget_left", fails)
        web, db = services.standings(["web", "db"])
    assert (web["doing"], web["paused_by"]) == ("paused", ["operator"])
    assert web["trouble"] == "ValueError: year 10000 is out of range"
    assert "year 10000" not in str(db["trouble"])


def test_another_group_is_that_of_the_next_search(tmp_path: Path) -> None:
    with kept(tmp_path, "web1", "web2") as (services, _, _said):
        text = (tmp_path / "bayop.toml").read_text(encoding="utf-8")
        for group, changed in (("web", ["web1", "web2"]), ("web", []), ("cache", ["web1", "web2"])):
            (tmp_path / "bayop.toml").write_text(text.replace("slo", f'group = "{group}"\nslo'), encoding="utf-8")
            assert services.take(DaemonFile.read(tmp_path / "bayop.toml").services).begun == changed
            assert {there._turn.group for there in services._there.values()} == {group}


@pytest.mark.alone
def test_of_a_group_one_is_searched_at_a_time(tmp_path: Path, agent_binary: Path) -> None:
    clients, events, text = Clients(tmp_path / "clients"), list[Mapping[str, Any]](), ""

    def of(what: str, *names: str) -> list[Mapping[str, Any]]:
        return [event for event in events if event["event"] == what and event["service"] in names]

    def searched() -> list[tuple[str, float, float]]:
        """The services as they were searched, and from when to when trials were in effect, in s."""
        trials = [event for event in of("window", "web1", "web2", "db") if event["phase"] == "trial"]
        spans = dict[tuple[str, int], tuple[float, float]]()
        for event in trials:
            end_s, key = datetime.fromisoformat(event["time"]).timestamp(), (event["service"], event["search"])
            spans[key] = (spans.get(key, (end_s - event["duration_s"],))[0], end_s)
        return [(name, *span) for (name, _), span in sorted(spans.items(), key=lambda item: item[1])]

    with ExitStack() as stack:
        for name in ("web1", "web2", "db"):
            (tmp_path / name).mkdir()
            machine = stack.enter_context(Machine(tmp_path / name / "root"))
            agent = stack.enter_context(AgentProcess(agent_binary, tmp_path / name, machine.root))
            told = service(agent, clients, name=name)
            text += told if name == "db" else told.replace("slo", 'group = "web"\nslo')
        (tmp_path / "bayop.toml").write_text(text, encoding="utf-8")
        store = stack.enter_context(Store(tmp_path / "bayop.db"))
        reporter = Reporter(store, time.time, lambda _: None, events.append)
        services = Services(DaemonFile.read(tmp_path / "bayop.toml").services, store, reporter, holder="a test")
        services.begin()
        assert eventually(
            lambda: len({event["service"] for event in of("search", "web1", "web2", "db")}) == 3, within_s=90
        )
        clients.send(7000.0)
        assert eventually(lambda: all(len(of("search", name)) > 1 for name in ("web1", "web2", "db")), within_s=90)
        assert services.end()

    spans = [span for span in searched() if span[0] != "db"]
    assert {name for name, _, _ in spans[:2]} == {"web1", "web2"}
    assert len(spans) >= 4, "after the change of load, too"
    assert all(end_s <= start_s for (_, _, end_s), (_, start_s, _) in pairwise(spans))
    assert of("waits", spans[1][0])[0]["waits_for"] == spans[0][0]
    db = next(span for span in searched() if span[0] == "db")
    assert db[1] < spans[1][1], "it did not wait for the first of the others"
    assert of("waits", "db") == []
