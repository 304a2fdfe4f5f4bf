"""The socket's end at `bayop run`: who gets in, and one answer to each request, each in a thread of its own.

The socket's mode is 0600 from its first moment on, and the kernel says who the peer is (SO_PEERCRED). A peer that says
nothing, or goes away, is waited for in its own thread for some seconds and disturbs nobody.
"""

from __future__ import annotations

import os
import pwd
import socket
import stat
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from os.path import samestat
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingMixIn, UnixStreamServer
from typing import Any, Final

from bayop.daemon.operator.wire import from_error, receive, send
from bayop.errors import InputError, UnsupportedError, as_ours, reason
from bayop.files import check_writable

Answer = Callable[[Mapping[str, Any], str], list[dict[str, object]]]
"""Does what a request asks for, on the word of somebody; the events that tell what came of it."""

_PATIENCE_S: Final = 5.0
"""How long a peer may take to say something, or to listen."""
_LOOK_S: Final = 0.2
_LONGEST: Final = 107
"""Of a socket's path, in bytes: unix(7)."""
_SHORTER: Final = "name a state in a folder of your own, by a short path"
_CREDENTIALS: Final = struct.Struct("3i")


@contextmanager
def listening(path: Path, answer: Answer) -> Iterator[None]:
    """Answers at a socket meanwhile. One that a killed process has left is replaced: the state's lock says it is ours.

    Raises:
        InputError: the socket can't be made.
    """
    try:
        with suppress(FileNotFoundError):
            if stat.S_ISSOCK(path.lstat().st_mode):
                path.unlink()
        server = _Server(str(path), answer)
        bound = path.lstat()
    except OSError as error:
        wrong = f"cannot listen at {path}: {reason(error)}"
        raise InputError(wrong=wrong, place=str(path), hint=_SHORTER) from error
    thread = threading.Thread(target=server.serve_forever, args=(_LOOK_S,), name="bayop-operator", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        with suppress(OSError):
            if samestat(path.lstat(), bound):
                path.unlink()


def check_socket(path: Path) -> None:
    """Whether a socket could be made there. Makes none.

    Raises:
        InputError: it could not.
    """
    check_writable(path)
    if path.exists() and not path.is_socket():
        raise InputError("it must be a socket, or not there", value=str(path))
    if len(os.fsencode(path)) > _LONGEST:
        raise InputError(f"the path of a socket must have at most {_LONGEST} bytes", value=str(path), hint=_SHORTER)


class _Handler(StreamRequestHandler):
    timeout = _PATIENCE_S
    server: _Server

    def handle(self) -> None:
        """Answers one request."""
        try:
            request = receive(self.rfile)
            message: dict[str, object] = {"events": self.server.answer(request, _peer(self.connection))}
        except OSError:
            return  # the peer is gone, or says nothing
        except Exception as error:  # one request's trouble is not the others'
            message = from_error(as_ours(error))
        with suppress(OSError):
            send(self.wfile, message)


class _Server(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 16

    def __init__(self, path: str, answer: Answer) -> None:
        self.answer = answer
        super().__init__(path, _Handler)

    def server_bind(self) -> None:
        """Binds a socket that nobody else may open: Linux makes the file with the mode of the socket."""
        os.fchmod(self.socket.fileno(), 0o600)
        super().server_bind()


def _peer(connection: socket.socket) -> str:
    """Who is at the other end, for people.

    Raises:
        UnsupportedError: neither we ourselves nor root.
    """
    packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, uid, _ = _CREDENTIALS.unpack(packed)
    try:
        name = f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        name = f"uid {uid}"
    if uid not in (0, os.geteuid()):
        raise UnsupportedError(
            "an operator must be root, or the user that runs bayop run",
            wrong=f"{name} may not say what bayop run does",
            hint=f"sudo, or sudo -u '#{os.geteuid()}'",
        )
    return name
