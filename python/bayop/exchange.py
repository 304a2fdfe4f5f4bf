"""HTTP/1.1 to one server under one limit for all of it, however often its socket waits.

A limit by a thread (`bayop.deadline`) costs more than what is asked, and a brain of many machines asks all day. So
every read and write of the socket is given what is left of the time. A thread only waits where a connection is made in
several steps: a name is resolved, or TLS is agreed on.
"""

from __future__ import annotations

import io
import math
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPSConnection
from time import monotonic, sleep
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, cast

from bayop.deadline import within
from bayop.hosts import is_ip_address

if TYPE_CHECKING:
    from email.message import Message

    from _typeshed import ReadableBuffer, WriteableBuffer

_QUEUE_S: Final = 0.001
"""How long to wait before a server's full queue is tried again."""


class UnixConnection(HTTPConnection):
    """HTTP over a Unix socket.

    Args:
        path: Where it is.
    """

    def __init__(self, path: str) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        """Connects, within `timeout`."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        ends = monotonic() + (self.timeout or math.inf)
        while True:
            try:
                return self.sock.connect(self._path)
            except BlockingIOError:  # the server's queue is full, for which a socket with a limit does not wait
                if monotonic() >= ends:
                    raise
                sleep(_QUEUE_S)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server has answered, whatever it means."""

    status: int
    headers: Message
    body: bytes


class Exchange:
    """Requests to one server, one after the other; over one connection, where the server keeps it.

    Args:
        connection: To the server; nothing is connected yet.
        limit_s: How long everything may take, from now on.
        most_bytes: No more than this is read of a body.
    """

    def __init__(self, connection: HTTPConnection, *, limit_s: float, most_bytes: int) -> None:
        self._connection, self._most_bytes = connection, most_bytes
        self._limit_s, self._ends = limit_s, monotonic() + limit_s

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def ask(self, method: str, path: str, body: str | bytes | None, headers: Mapping[str, str]) -> Reply:
        """The answer to one request.

        A connection that the server has closed since the last answer is made anew.

        Raises:
            TimeoutError: time is over.
            OSError: the server can't be reached.
            HTTPException: what answers speaks no HTTP.
            ValueError: nor that.
        """
        is_kept = self._connection.sock is not None
        try:
            return self._ask(method, path, body, headers)
        except ConnectionError:
            if not is_kept:
                raise
        self._connection.close()
        return self._ask(method, path, body, headers)

    def _ask(self, method: str, path: str, body: str | bytes | None, headers: Mapping[str, str]) -> Reply:
        if self._connection.sock is None:
            self._connect()
        self._connection.request(method, path, body, dict(headers))
        with self._connection.getresponse() as response:
            return Reply(response.status, response.headers, response.read(self._most_bytes))

    def _connect(self) -> None:
        connection, limit_s = self._connection, self.left_s()
        connection.timeout = limit_s
        if _is_one_step(connection):
            connection.connect()
        else:
            within(limit_s, connection.connect)
        connection.sock = cast("socket.socket", _Limited(connection.sock, self))

    def left_s(self) -> float:
        """How much is left of the time.

        Raises:
            TimeoutError: nothing.
        """
        left_s = self._ends - monotonic()
        if left_s <= 0.0:
            raise TimeoutError(f"timed out after {self._limit_s:.2g} s")
        return left_s


class _Limited:
    """What `http.client` uses of a socket, each time with what is left of an exchange's time."""

    def __init__(self, connected: socket.socket, exchange: Exchange) -> None:
        self._socket, self._exchange = connected, exchange

    def sendall(self, data: ReadableBuffer) -> None:
        self._socket.settimeout(self._exchange.left_s())
        self._socket.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self._socket, self._exchange))

    def close(self) -> None:
        self._socket.close()


class _Reader(io.RawIOBase):
    """Keeps the socket open that it reads from, as `http.client` counts on."""

    def __init__(self, connected: socket.socket, exchange: Exchange) -> None:
        self._socket, self._exchange = connected, exchange
        self._raw = connected.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        self._socket.settimeout(self._exchange.left_s())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _is_one_step(connection: HTTPConnection) -> bool:
    if isinstance(connection, HTTPSConnection):
        return False
    if isinstance(connection, UnixConnection):
        return True
    return is_ip_address(connection.host)
