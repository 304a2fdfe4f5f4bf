"""The daemon's own loop; what it does with services is tested end to end."""

from __future__ import annotations

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
from bayop.state.store import Store

FILE = """
stop_file = "stop"

[service.web]
agent = "unix:/nobody/web.sock"
latency = "./p99.sh"
slo = "p99<500us"
"""


def test_the_stop_file_does_not_wait_for_a_file_that_is_read_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taking, let_go = threading.Event(), threading.Event()

    def take(*_: object) -> None:
        taking.set()
        let_go.wait(30.0)
        raise ValueError

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
    assert future.exception(10.0) is not None
