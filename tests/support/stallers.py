"""A Prometheus that answers until it is told to stall, in one of the ways that a time limit per byte does not end."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

WAYS: Final = ("drips", "continues", "says nothing")

_BODY: Final = '{"status": "success", "data": {"resultType": "vector", "result": [{"value": [0.0003, "0.0002"]}]}}'
_PAUSE_S: Final = 0.05


class Staller:
    """Answers every query with 200 us.

    Attributes:
        url: Where it is.
        way: How it stalls; None while it answers.
    """

    def __init__(self, listener: socket.socket, url: str, reply: bytes) -> None:
        self.url = url
        self.way: str | None = None
        self._listener, self._reply = listener, reply

    def serve(self) -> None:
        """Serves until its listener is closed."""
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(65536)
            if self.way is None:
                connection.sendall(self._reply)
                return
            if self.way == "drips":
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            while True:
                time.sleep(_PAUSE_S)
                if self.way != "says nothing":
                    connection.sendall(b" " if self.way == "drips" else b"HTTP/1.1 100 Continue\r\n\r\n")


@contextmanager
def staller(listener: socket.socket | None = None, *, body: str = _BODY) -> Iterator[Staller]:
    """A server on loopback, or on a listener that there is."""
    reply = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
    with listener or socket.create_server(("127.0.0.1", 0)) as listening:
        name = listening.getsockname()
        server = Staller(listening, f"http://127.0.0.1:{name[1]}" if isinstance(name, tuple) else name, reply)
        threading.Thread(target=server.serve, daemon=True).start()
        yield server
        listening.shutdown(socket.SHUT_RDWR)
