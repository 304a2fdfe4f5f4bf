"""What servers say of the requests that they have answered."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

import pytest
from tests.support.servers import free_port, memcached_on, scripted, serving

from bayop.load.answered import answered
from bayop.load.plan import Dialect


def said(port: int, *lines: str) -> None:
    """Sends lines to a server, and waits for its last word."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall("".join(f"{line}\r\n" for line in lines).encode())
        while connection.recv(4096):
            pass


@pytest.fixture
def port() -> int:
    return free_port()


def test_memcached_counts_reads_and_writes(port: int) -> None:
    with memcached_on(port):
        assert answered("memcached", f"127.0.0.1:{port}") == 0
        said(port, "get a", "set a 0 0 1", "x", "version", "get a", "quit")
        assert answered("memcached", f"127.0.0.1:{port}") == 3


def test_redis_counts_commands(port: int) -> None:
    with serving(["redis-server", "--port", str(port), "--save", ""], port):
        before = answered("redis", f"127.0.0.1:{port}")
        said(port, "GET a", "GET a", "GET a", "QUIT")
        after = answered("redis", f"127.0.0.1:{port}")
    assert before is not None
    assert after is not None
    assert 3 <= after - before <= 6, "what asks for it may count, too"


@pytest.mark.parametrize("dialect", ["memcached", "redis", "http"])
@pytest.mark.parametrize("answer", [b"ERROR\r\n", b"-NOAUTH Authentication required.\r\n", b"STAT cmd_get x\r\n"])
def test_who_does_not_say_it_is_not_believed(dialect: Dialect, answer: bytes) -> None:
    with scripted(answer.hex()) as server:
        assert answered(dialect, server) is None


@pytest.mark.parametrize("dialects", [("memcached", "redis", "http")])
def test_who_can_t_be_asked_says_nothing(dialects: Sequence[Dialect], port: int) -> None:
    assert [answered(dialect, f"127.0.0.1:{port}") for dialect in dialects] == [None] * 3


def test_who_never_ends_its_answer_is_not_waited_for() -> None:
    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            while True:
                connection.sendall(b"S")
                time.sleep(0.1)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=drip, args=(listener,))
        server.start()
        start_s = time.monotonic()
        assert answered("memcached", f"127.0.0.1:{listener.getsockname()[1]}") is None
        server.join()
    assert time.monotonic() - start_s < 10
