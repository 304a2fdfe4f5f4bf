"""The daemon's own loop; what it does with services is tested end to end."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.support.patience import eventually

from bayop.daemon.daemon import Daemon
from bayop.daemon.file import DaemonFile
from bayop.daemon.notify import Notifier
from bayop.daemon.report import Reporter
from bayop.daemon.services import Services
from bayop.daemon.web import file as web_file
from bayop.errors import InputError
from bayop.state.store import Store

FILE = """
stop_file = "stop"

[service.web]
agent = "unix:/nobody/web.sock"
latency = "./p99.sh"
slo = "p99<500us"
"""


def test_a_stop_file_that_is_gone_ends_nobody_else_s_pause(tmp_path: Path) -> None:
    path, lines = tmp_path / "bayop.toml", list[str]()
    path.write_text(FILE, encoding="utf-8")
    (tmp_path / "stop").touch()
    with Store(tmp_path / "bayop.db") as store:
        store.add_event(0.0, "web", "paused", {"by": "root"})
        reporter = Reporter(store, time.time, lambda line: lines.append(line.text), lambda _: None)
        daemon = Daemon(DaemonFile.read(path), store, reporter, Notifier(None), holder="a test")
        running = threading.Thread(target=daemon.run)
        running.start()
        (tmp_path / "stop").unlink()
        assert eventually(lambda: any("is gone" in line for line in lines), within_s=10)
        daemon.stop()
        running.join(30.0)
        assert store.holders() == {"a test"}
    (line,) = (line for line in lines if "is gone" in line)
    assert line.endswith("stop is gone: goes on, but for what an operator has paused: web")


@pytest.mark.parametrize(("listen", "line"), [('listen = "127.0.0.1:{}"\n', 9), ("", 8)])
def test_an_address_that_is_in_use_has_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listen: str, line: int
) -> None:
    path = tmp_path / "bayop.toml"
    with Store(tmp_path / "bayop.db") as store, socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(web_file, "_PORT", port)
        path.write_text(f"{FILE}[web]\n{listen.format(port)}", encoding="utf-8")
        reporter = Reporter(store, time.time, lambda _: None, lambda _: None)
        daemon = Daemon(DaemonFile.read(path), store, reporter, Notifier(None), holder="a test")
        with pytest.raises(InputError, match=rf"cannot listen at .*: address already in use \(.*bayop\.toml:{line}\)"):
            daemon.run()


def test_the_stop_file_does_not_wait_for_a_file_that_is_read_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taking, let_go = threading.Event(), threading.Event()

    def take(*_: object) -> None:
        taking.set()
        let_go.wait(30.0)
        raise ValueError("no such thing")

    path = tmp_path / "bayop.toml"
    path.write_text(FILE, encoding="utf-8")
    events: list[Mapping[str, object]] = []
    with Store(tmp_path / "bayop.db") as store:
        reporter = Reporter(store, time.time, lambda _: None, events.append)
        daemon = Daemon(DaemonFile.read(path), store, reporter, Notifier(None), holder="a test")
        monkeypatch.setattr(Services, "take", take)
        running = threading.Thread(target=daemon.run)
        running.start()
        try:
            future = daemon.reload()
            assert taking.wait(10.0)
            (tmp_path / "stop").touch()
            assert eventually(lambda: any(event["event"] == "paused" for event in events), within_s=5)
            assert not future.done()
        finally:
            let_go.set()
            daemon.stop()
            running.join(30.0)
    assert not running.is_alive()
    assert str(future.exception(10.0)) == "ValueError: no such thing"


@pytest.mark.parametrize("table", ["web", "notify"])
def test_what_must_stay_as_it_is_while_bayop_runs_has_a_line(tmp_path: Path, table: str) -> None:
    keys = {"web": "", "notify": 'url = "http://127.0.0.1:9/"\n'}
    path = tmp_path / "bayop.toml"
    path.write_text(FILE, encoding="utf-8")
    with Store(tmp_path / "bayop.db") as store:
        reporter = Reporter(store, time.time, lambda _: None, lambda _: None)
        daemon = Daemon(DaemonFile.read(path), store, reporter, Notifier(None), holder="a test")
        running = threading.Thread(target=daemon.run)
        running.start()
        try:
            path.write_text(f"{FILE}[{table}]\n{keys[table]}", encoding="utf-8")
            rule = rf"it has changed; \[{table}\] must stay as it is while bayop runs \(.*bayop\.toml:8\)"
            with pytest.raises(InputError, match=rule):
                daemon.reload().result(10.0)
        finally:
            daemon.stop()
            running.join(30.0)
