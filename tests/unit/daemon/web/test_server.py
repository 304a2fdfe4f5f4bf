"""The server against peers that are hostile, slow, dead, or somebody else's page."""

from __future__ import annotations

import json
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.patience import eventually
from tests.unit.daemon.test_services import files

from bayop.daemon.report import Reporter
from bayop.daemon.services import Services
from bayop.daemon.web.feed import Feed
from bayop.daemon.web.file import WebFile
from bayop.daemon.web.server import serving
from bayop.daemon.web.view import View
from bayop.errors import BayopError, InputError
from bayop.state.store import Store

TOKEN = "0123456789abcdef"  # noqa: S105 -- a test's


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    path = tmp_path / "web.token"
    path.touch(mode=0o600)
    path.write_text(f"# who may act\nalice {TOKEN}\n", encoding="utf-8")
    return path


class Site:
    """A server of two services that no agent answers for, and what was said to it."""

    def __init__(self, port: int, view: View, reporter: Reporter, said: list[tuple[str, str | None, str]]) -> None:
        self.port, self.view, self.reporter, self.said = port, view, reporter, said

    def raw(self, data: bytes) -> bytes:
        """What comes back when bytes are sent and nothing follows."""
        with closing(socket.create_connection(("127.0.0.1", self.port), timeout=20)) as connection:
            connection.sendall(data)
            answer = b""
            while part := connection.recv(65_536):
                answer += part
            return answer

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, Any]:
        """The status and the body."""
        lines = {"Host": f"localhost:{self.port}", **{name.replace("_", "-"): text for name, text in headers.items()}}
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {text}\r\n" for name, text in lines.items())
        answer, _, body = self.raw(f"{head}\r\n".encode()).partition(b"\r\n\r\n")
        return int(answer.split()[1]), json.loads(body) if body else None


@contextmanager
def site(tmp_path: Path, web: WebFile) -> Iterator[Site]:
    said: list[tuple[str, str | None, str]] = []

    def word(verb: str, service: str | None, by: str) -> list[dict[str, Any]]:
        if verb == "trigger":
            raise BayopError(wrong="it is about something else")
        said.append((verb, service, by))
        return []

    with Store(tmp_path / "bayop.db") as store:
        reporter = Reporter(store, lambda: 0.0, lambda _: None, lambda _: None)
        services = Services(files(tmp_path, "web", "db"), store, reporter, holder="a test")
        view = View(services, tmp_path / "bayop.db", Feed(), word, lambda: 0.0, web.token_file is not None)
        services.begin()
        with serving(web, view) as port:
            yield Site(port, view, reporter, said)
        assert services.end()


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Site]:
    """As it is without further words in the file."""
    with site(tmp_path, WebFile("127.0.0.1", 0, (), None)) as here:
        yield here


@pytest.fixture
def acting(tmp_path: Path, token_file: Path) -> Iterator[Site]:
    """One by which alice may act."""
    with site(tmp_path, WebFile("127.0.0.1", 0, ("bayop.example",), token_file)) as here:
        yield here


def test_services_are_told(local: Site) -> None:
    status, answer = local.ask("/api/services")
    assert (status, [each["service"] for each in answer["services"]]) == (200, ["web", "db"])
    answer = local.ask("/api/services/db")[1]
    assert (answer["service"]["service"], answer["windows"], answer["default"]) == ("db", [], None)
    assert local.ask("/api/services/db/map") == (204, None)
    assert local.ask("/api/services", "HEAD") == (200, None)


def test_what_is_damaged_is_left_out_and_told(local: Site) -> None:
    for name in ("one", "other"):
        local.reporter.decision(name, "", service="db")
    with closing(sqlite3.connect(local.view.state)) as database, database:
        database.execute("UPDATE event SET fields = '[' WHERE event = 'one'")
    status, answer = local.ask("/api/services/db")
    names = {each["event"] for each in answer["events"]}
    assert (status, names & {"one", "other"}) == (200, {"other"})
    (told,) = answer["damaged"]
    assert "is damaged: " in told


HOSTILE = {
    b"": None,
    b"GET /\r\n\r\n": 400,
    b"nonsense\r\n\r\n": 400,
    b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n": 400,
    b"GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n": 400,
    b"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n": 400,
    b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n": 400,
    b"GET / HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n": 400,
    b"GET / HTTP/1.1\r\nHost: localhost\r\nA\0: b\r\n\r\n": 400,
    b"GET / HTTP/1.1\r\n\r\n": 421,
    b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n": 421,
    b"GET / HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n": 421,
    b"GET / HTTP/1.1\r\nHost: a@localhost\r\n\r\n": 421,
    b"GET / HTTP/1.1\r\nHost: localhost:x\r\n\r\n": 421,
    b"GET / HTTP/1.1\r\nHost: localhost#evil.example\r\n\r\n": 421,
    b"GET / HTTP/1.1\r\nHost: localhost?evil.example\r\n\r\n": 421,
    b"GET / HTTP/1.1\r\nHost: localhost/evil.example\r\n\r\n": 421,
    b"GET / HTTP/1.1\r\nHost: [::1\r\n\r\n": 421,
    b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n": 404,
    b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n": 404,
    b"GET /api/services/../web HTTP/1.1\r\nHost: localhost\r\n\r\n": 404,
    b"GET /api/services/%00 HTTP/1.1\r\nHost: localhost\r\n\r\n": 404,
    b"GET /api/services/\xff HTTP/1.1\r\nHost: localhost\r\n\r\n": 400,
    b"DELETE /api/services HTTP/1.1\r\nHost: localhost\r\n\r\n": 405,
    b"OPTIONS / HTTP/1.1\r\nHost: localhost\r\n\r\n": 405,
    b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": 411,
    b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n": 413,
    b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n": 413,
    b"GET / HTTP/1.1\r\n" + b"a" * 16_368: 431,
}


@pytest.mark.parametrize("data", HOSTILE, ids=lambda data: repr(data[:40]))
def test_what_is_no_request_of_ours_is_refused(local: Site, data: bytes) -> None:
    if HOSTILE[data] is None:
        with closing(socket.create_connection(("127.0.0.1", local.port))):
            pass
    else:
        answer = local.raw(data)
        assert int(answer.split()[1]) == HOSTILE[data]
        assert b"Content-Security-Policy: default-src 'none'" in answer
    assert local.ask("/api/services")[0] == 200


def test_a_peer_that_says_little_is_not_waited_for(local: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayop.daemon.web.request._PATIENCE_S", 0.2)
    assert local.raw(b"GET / HTTP/1.1\r\nHost: loc").startswith(b"HTTP/1.1 408 ")


def test_more_peers_than_there_is_room_for_are_told_so(local: Site) -> None:
    silent = [socket.create_connection(("127.0.0.1", local.port)) for _ in range(96)]
    try:
        answers = [local.raw(b"") for _ in range(2)]
        assert all(answer.startswith(b"HTTP/1.1 503 ") for answer in answers)
    finally:
        for each in silent:
            each.close()


def test_nobody_acts_by_a_page_without_a_token_file(local: Site) -> None:
    status, answer = local.ask("/api/services/web/pause", "POST", Authorization=f"Bearer {TOKEN}")
    assert (status, local.said) == (403, [])
    assert "token file" in answer["error"]["rule"]


def test_who_has_a_token_acts_and_is_named(acting: Site) -> None:
    assert acting.ask("/api/services/web/pause", "POST", Authorization=f"Bearer {TOKEN}") == (200, {"events": []})
    assert acting.said == [("pause", "web", "alice (web, 127.0.0.1)")]
    status, answer = acting.ask("/api/services/web/trigger", "POST", Authorization=f"Bearer {TOKEN}")
    assert (status, answer["error"]["wrong"]) == (409, "it is about something else")


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_all_services_are_acted_on_by_one_word(acting: Site, verb: str) -> None:
    assert acting.ask(f"/api/{verb}", "POST")[0] == 401
    assert acting.ask(f"/api/{verb}", "POST", Authorization=f"Bearer {TOKEN}") == (200, {"events": []})
    assert acting.said == [(verb, None, "alice (web, 127.0.0.1)")]


OTHERS = {
    "no token": (401, {}),
    "another token": (401, {"Authorization": "Bearer 0123456789abcdeX"}),
    "another scheme": (401, {"Authorization": f"Basic {TOKEN}"}),
    "another origin": (403, {"Authorization": f"Bearer {TOKEN}", "Origin": "http://evil.example"}),
    "an origin with more than a host": (
        403,
        {"Authorization": f"Bearer {TOKEN}", "Origin": "http://bayop.example/x@y", "Host": "bayop.example"},
    ),
    "an origin of another kind": (
        403,
        {"Authorization": f"Bearer {TOKEN}", "Origin": "ftp://bayop.example", "Host": "bayop.example"},
    ),
    "what is no origin": (403, {"Authorization": f"Bearer {TOKEN}", "Origin": "http://["}),
    "no origin": (403, {"Authorization": f"Bearer {TOKEN}", "Origin": "null"}),
    "another site": (403, {"Authorization": f"Bearer {TOKEN}", "Sec_Fetch_Site": "cross-site"}),
    "another name": (421, {"Authorization": f"Bearer {TOKEN}", "Host": "evil.example"}),
}


@pytest.mark.parametrize("who", OTHERS)
def test_nobody_else_acts(acting: Site, who: str) -> None:
    status, headers = OTHERS[who]
    assert acting.ask("/api/services/web/pause", "POST", **headers)[0] == status
    assert acting.said == []


def test_a_word_for_nobody_or_none_is_refused(acting: Site) -> None:
    for path in (
        "/api/services/nobody/pause",
        "/api/services/web/forget",
        "/api/services/web",
        "/",
        "/api/services//pause",
        "/api/trigger",
    ):
        assert acting.ask(path, "POST", Authorization=f"Bearer {TOKEN}")[0] == 404
    assert acting.ask("/api/services", Host="bayop.example")[0] == 200


def test_a_token_that_is_taken_out_counts_no_more(acting: Site, token_file: Path) -> None:
    token_file.write_text("bob fedcba9876543210\n", encoding="utf-8")
    assert acting.ask("/api/services/web/pause", "POST", Authorization=f"Bearer {TOKEN}")[0] == 401
    token_file.chmod(0o644)
    assert acting.ask("/api/services/web/pause", "POST", Authorization="Bearer fedcba9876543210")[0] == 403


def test_the_network_needs_a_token_to_look(tmp_path: Path, token_file: Path) -> None:
    with site(tmp_path, WebFile("0.0.0.0", 0, (), token_file)) as here:  # noqa: S104 -- that is what is tested
        assert here.ask("/api/services")[0] == 401
        assert here.ask("/api/services", Authorization=f"Bearer {TOKEN}")[0] == 200


def test_an_address_of_somebody_else_is_refused(tmp_path: Path) -> None:
    with (
        site(tmp_path, WebFile("127.0.0.1", 0, (), None)) as here,
        pytest.raises(InputError, match="cannot listen at"),
        serving(WebFile("127.0.0.1", here.port, (), None), here.view),
    ):
        pass


def test_the_page_itself_needs_no_token(tmp_path: Path, token_file: Path) -> None:
    with site(tmp_path, WebFile("0.0.0.0", 0, (), token_file)) as here:  # noqa: S104 -- as above
        assert here.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").startswith(b"HTTP/1.1 200 OK\r\n")
        assert here.ask("/api/stream")[0] == 401


def test_a_viewer_hears_what_happens_and_the_end(local: Site) -> None:
    with (
        closing(socket.create_connection(("127.0.0.1", local.port), timeout=20)) as viewer,
        viewer.makefile("rb") as stream,
    ):
        viewer.sendall(b"GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert stream.readline() == b"HTTP/1.1 200 OK\r\n"
        while stream.readline() != b"event: hello\n":
            pass
        local.view.feed.put({"event": "window", "service": "web"})
        while stream.readline() != b"event: window\n":
            pass
        assert stream.readline() == b'data: {"event":"window","service":"web"}\n'
        local.view.feed.close()
        assert stream.read() == b"\n", "and the connection ends"


def test_a_viewer_that_reads_nothing_keeps_nobody_waiting(local: Site) -> None:
    with closing(socket.create_connection(("127.0.0.1", local.port))) as viewer:
        viewer.sendall(b"GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert eventually(lambda: local.view.feed.viewers == 1, within_s=10)
        for _ in range(200):
            local.view.feed.put({"event": "window", "text": "x" * 100_000})
        assert local.ask("/api/services")[0] == 200


def test_more_viewers_than_there_is_room_for_are_told_so(local: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayop.daemon.web.server._MOST_VIEWERS", 3)
    with ExitStack() as stack:
        viewers = [
            stack.enter_context(closing(socket.create_connection(("127.0.0.1", local.port), timeout=20)))
            for _ in range(12)
        ]
        for viewer in viewers:
            viewer.sendall(b"GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answers = [viewer.recv(12) for viewer in viewers]
    assert sorted(answers) == [b"HTTP/1.1 200"] * 3 + [b"HTTP/1.1 503"] * 9
