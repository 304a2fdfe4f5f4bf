from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.load.quick import ANSWER, answered
from tests.support.patience import eventually
from tests.support.servers import free_port, serving


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    port = free_port()
    with serving([sys.executable, "-m", "bench.load.quick", str(port), str(tmp_path / "count")], port):
        yield port


def test_each_request_has_an_answer_wherever_it_is_cut(port: int, tmp_path: Path) -> None:
    requests = 3 * b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    for cut in range(1, len(requests)):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client.sendall(requests[:cut])
            whole = requests[:cut].count(b"\r\n\r\n") * len(ANSWER)
            assert len(client.recv(whole, socket.MSG_WAITALL)) == whole
            client.sendall(requests[cut:])
            rest = 3 * len(ANSWER) - whole
            assert client.recv(rest, socket.MSG_WAITALL) == rest // len(ANSWER) * ANSWER
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in requests:
            client.sendall(bytes([byte]))
            time.sleep(0.001)
        assert client.recv(3 * len(ANSWER), socket.MSG_WAITALL) == 3 * ANSWER
    assert eventually(lambda: answered(tmp_path / "count") == 3 * len(requests), within_s=10)
