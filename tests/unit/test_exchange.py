from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path

import pytest
from tests.support.stallers import WAYS, staller

from bayop.exchange import Exchange, UnixConnection

REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


class Counting:
    """A server on loopback that answers so many requests of a connection, then closes it."""

    def __init__(self, listener: socket.socket, answers: int) -> None:
        self.port: int = listener.getsockname()[1]
        self.connections = 0
        self._listener, self._answers = listener, answers

    def serve(self) -> None:
        try:
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                with connection:
                    for _ in range(self._answers):
                        if not connection.recv(65536):
                            break
                        connection.sendall(REPLY)
        except OSError:
            pass  # the test is over


@contextmanager
def counting(answers: int) -> Iterator[Counting]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Counting(listener, answers)
        threading.Thread(target=server.serve, daemon=True).start()
        yield server
        listener.shutdown(socket.SHUT_RDWR)


def exchange(port: int, *, host: str = "127.0.0.1", limit_s: float = 5.0) -> Exchange:
    return Exchange(HTTPConnection(host, port), limit_s=limit_s, most_bytes=100)


def test_one_connection_serves_while_the_server_keeps_it() -> None:
    with counting(3) as server, exchange(server.port) as asked:
        for _ in range(3):
            reply = asked.ask("GET", "/", None, {})
            assert (reply.status, reply.body) == (200, b"hi")
        assert server.connections == 1


def test_a_connection_that_was_closed_meanwhile_is_made_anew() -> None:
    with counting(1) as server, exchange(server.port) as asked:
        assert [asked.ask("POST", "/", "x", {}).body for _ in range(3)] == [b"hi"] * 3
        assert server.connections == 3


def test_a_first_connection_that_fails_is_not_tried_twice() -> None:
    with counting(0) as server, exchange(server.port) as asked:
        with pytest.raises(ConnectionError):
            asked.ask("GET", "/", None, {})
        assert server.connections == 1


def test_a_host_may_have_a_name() -> None:
    with counting(1) as server, exchange(server.port, host="localhost") as asked:
        assert asked.ask("GET", "/", None, {}).body == b"hi"


def test_no_more_is_read_than_was_said() -> None:
    with counting(1) as server, Exchange(HTTPConnection("127.0.0.1", server.port), limit_s=5.0, most_bytes=1) as asked:
        assert asked.ask("GET", "/", None, {}).body == b"h"


@pytest.mark.parametrize("way", WAYS)
def test_the_limit_is_for_all_of_it(way: str) -> None:
    with staller() as server:
        server.way = way
        began = time.monotonic()
        port = int(server.url.rpartition(":")[2])
        with exchange(port, limit_s=0.3) as asked, pytest.raises(TimeoutError):
            asked.ask("GET", "/", None, {})
        assert time.monotonic() - began < 2.0


def test_a_greeting_by_tls_that_never_comes_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        connection = HTTPSConnection("127.0.0.1", silent.getsockname()[1])
        with Exchange(connection, limit_s=0.3, most_bytes=100) as asked, pytest.raises(TimeoutError):
            asked.ask("GET", "/", None, {})
        assert time.monotonic() - began < 2.0


def test_time_that_is_over_is_not_begun(tmp_path: Path) -> None:
    asked = Exchange(UnixConnection(str(tmp_path / "s")), limit_s=0.01, most_bytes=100)
    time.sleep(0.02)
    with pytest.raises(TimeoutError, match=r"timed out after 0\.01 s"):
        asked.ask("GET", "/", None, {})


@pytest.fixture
def full(tmp_path: Path) -> Iterator[socket.socket]:
    """A socket that listens, and whose queue has no room."""
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as first:
        listener.bind(str(tmp_path / "socket"))
        listener.listen(0)
        first.connect(listener.getsockname())
        yield listener


def test_a_full_queue_is_waited_for(full: socket.socket) -> None:
    def serve() -> None:
        time.sleep(0.1)
        with full.accept()[0], full.accept()[0] as second:
            second.recv(65536)
            second.sendall(REPLY)

    threading.Thread(target=serve, daemon=True).start()
    with Exchange(UnixConnection(full.getsockname()), limit_s=5.0, most_bytes=100) as asked:
        assert asked.ask("GET", "/", None, {}).body == b"hi"


def test_a_queue_that_stays_full_is_waited_for_no_longer_than_the_limit(full: socket.socket) -> None:
    connection = UnixConnection(full.getsockname())
    with Exchange(connection, limit_s=0.1, most_bytes=100) as asked, pytest.raises(BlockingIOError):
        asked.ask("GET", "/", None, {})
