"""Messages between the coordinator and its peers: one JSON object a line over TCP."""

from __future__ import annotations

import json
import select
import socket
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

from bayop.deadline import within
from bayop.errors import BayopError, InputError, printable, reason
from bayop.json_text import parse_object

PORT: Final = 5556
"""Where a peer listens when nobody says, as mutilate's."""
_MOST_BYTES: Final = 1 << 28
_LOST_S: Final = 60
"""A side that the network does not reach for so long is gone."""


class PeerError(BayopError):
    """A peer is gone, or failed: exit code 1."""

    @property
    def message(self) -> str:
        """The error on one line, whatever the peer says."""
        return printable(super().message)


class Channel:
    """A connection over which messages go in both directions.

    Args:
        connection: The socket, which the channel closes.
        peer: What to call the other side in errors.
    """

    def __init__(self, connection: socket.socket, peer: str) -> None:
        self.peer = peer
        self._connection = connection
        self._file = connection.makefile("rwb")

    @classmethod
    def connect(cls, address: str, timeout_s: float = 5.0) -> Channel:
        """Connects to a peer at `host` or `host:port`.

        Raises:
            PeerError: nobody answers there.
        """
        host, port = split(address)
        try:
            connection = socket.create_connection((host, port), timeout=timeout_s)
        except OSError as error:
            hint = f"start it there: bayop load --agent --listen {host}:{port}"
            raise PeerError(wrong=f"no peer answers: {reason(error)}", place=address, hint=hint) from error
        return cls(connection, address)

    def send(self, message: dict[str, Any]) -> None:
        """Sends one message.

        Raises:
            PeerError: the other side is gone.
        """
        try:
            self._file.write(json.dumps(message).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise PeerError(wrong=f"the other side has gone: {reason(error)}", place=self.peer) from error

    def receive(self, timeout_s: float) -> dict[str, Any]:
        """The next message.

        Raises:
            PeerError: the other side is gone or silent, says something that is no message, or reports an error.
        """
        self._connection.settimeout(timeout_s)
        try:
            line = within(timeout_s, self._line)
        except OSError as error:
            with suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)  # so that nobody goes on to read
            raise PeerError(wrong=f"the other side did not answer in time: {reason(error)}", place=self.peer) from error
        if not line:
            raise PeerError(wrong="the other side has hung up", place=self.peer)
        try:
            message = parse_object(line, rule="the other side must send messages", place=self.peer)
        except InputError as error:
            raise PeerError.of(error) from error
        if "error" in message:
            raise PeerError(
                wrong=f"the peer can't run its part: {message['error']}", value=message["error"], place=self.peer
            )
        return message

    def _line(self) -> bytes:
        return self._file.readline(_MOST_BYTES)

    def has_message(self) -> bool:
        """Whether the other side said something, or is gone."""
        ready, _, _ = select.select([self._connection], [], [], 0.0)
        return bool(ready)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The socket stays open for as long as its file is; what could not be sent is not sent now.
        with suppress(OSError):
            self._file.close()
        self._connection.close()


def keep_alive(connection: socket.socket) -> None:
    """Has the kernel find out when the other side is lost: a machine without power does not hang up."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    options = {
        socket.TCP_KEEPIDLE: _LOST_S // 4,
        socket.TCP_KEEPINTVL: _LOST_S // 4,
        socket.TCP_KEEPCNT: 3,
        socket.TCP_USER_TIMEOUT: _LOST_S * 1000,
    }
    for option, value in options.items():
        connection.setsockopt(socket.IPPROTO_TCP, option, value)


def split(address: str) -> tuple[str, int]:
    """`host` or `host:port`.

    Raises:
        InputError: the port is no number from 1 to 65535, or the host is an IPv6 address, which has no place for one.
    """
    host, colon, port = address.rpartition(":")
    if not colon:
        return address, PORT
    if ":" in host or not port.isdigit() or not 0 < int(port) < 65536:
        raise InputError("a peer must be HOST or HOST:PORT, and HOST a name or an IPv4 address", value=address)
    return host, int(port)
