"""Every query of the dashboard, against a real Prometheus that scrapes a real `bayop run` and its real agent."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.support.agents import AgentProcess
from tests.support.needs import need
from tests.support.patience import eventually
from tests.support.peers import Peer
from tests.support.prometheus import Prometheus
from tests.support.servers import free_port
from tests.support.services import Clients, service

ROOT = Path(__file__).resolve().parents[2]
WITHIN_S = 90.0


def answers(port: int) -> bool:
    """Whether somebody listens."""
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    return True


@pytest.fixture
def told() -> Iterator[Peer]:
    """Who is notified."""
    peer = Peer()
    yield peer
    peer.end()


@pytest.fixture
def served(tmp_path: Path, agent: AgentProcess, told: Peer) -> Iterator[str]:
    """A `bayop run` that searches and holds; where it is served."""
    clients, port = Clients(tmp_path / "clients"), free_port()
    file = tmp_path / "bayop.toml"
    web = f'[web]\nlisten = "127.0.0.1:{port}"\n[notify]\nurl = "http://{told.address}"\nevents = ["search", "stop"]\n'
    knobs = service(agent, clients).replace("[service.web.window]", '"nic.rx_usecs" = "30:60:10"\n[service.web.window]')
    file.write_text(f"{web}{knobs}[service.web.budget]\nrequests_over = 0.01\n", encoding="utf-8")
    run = subprocess.Popen([sys.executable, "-m", "bayop", "run", str(file)])
    try:
        assert eventually(lambda: answers(port), within_s=WITHIN_S)
        yield f"127.0.0.1:{port}"
    finally:
        run.send_signal(signal.SIGTERM)
        run.wait(WITHIN_S)
    assert [body["event"] for _, _, body in told.got][:: len(told.got) - 1] == ["search", "stop"]


def metrics_of(agent: AgentProcess) -> bytes:
    """The answer to a scrape, with its head."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(agent.address.removeprefix("unix:"))
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: agent\r\nConnection: close\r\n\r\n")
        answer = b""
        while part := connection.recv(65_536):
            answer += part
    return answer


@pytest.fixture
def over_tcp(agent: AgentProcess) -> Iterator[str]:
    """The agent's metrics at a TCP port; it is asked at its socket."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.wfile.write(metrics_of(agent))

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base class's name
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def series(url: str, query: str) -> list[Any]:
    with urllib.request.urlopen(f"{url}/api/v1/query?{urlencode({'query': query})}", timeout=20) as answer:  # noqa: S310 -- ours
        found: list[Any] = json.load(answer)["data"]["result"]
    return found


def test_every_panel_shows_something(tmp_path: Path, served: str, over_tcp: str) -> None:
    need("prometheus")
    folder = tmp_path / "prometheus"
    folder.mkdir()
    dashboard = json.loads((ROOT / "packaging/grafana/bayop.json").read_text(encoding="utf-8"))
    queries = [
        target["expr"].replace("$job", "test").replace("$service", ".+").replace("$__rate_interval", "1m")
        for panel in dashboard["panels"]
        for target in panel["targets"]
    ]
    assert len(queries) > 20
    with Prometheus(folder, target=served, more=[over_tcp], scrape_s=2.0) as prometheus:
        held = 'bayop_phase{phase="hold"} == 1 and on (service) bayop_window_latency_seconds'
        assert eventually(lambda: bool(series(prometheus.url, held)), within_s=WITHIN_S)
        silent = queries

        def all_speak() -> bool:
            nonlocal silent
            silent = [query for query in silent if not series(prometheus.url, query)]
            return not silent

        assert eventually(all_speak, within_s=WITHIN_S), silent


def test_promtool_finds_nothing_to_say_of_an_agent_s_metrics(agent: AgentProcess) -> None:
    need("prometheus")
    _, _, text = metrics_of(agent).decode().partition("\r\n\r\n")
    # promtool reads the older format, in which a counter's family is named as its samples are.
    for counter in re.findall(r"^# TYPE (\w+) counter$", text, re.MULTILINE):
        text = re.sub(rf"^(# (?:HELP|TYPE) {counter}) ", r"\1_total ", text, flags=re.MULTILINE)
    run = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
