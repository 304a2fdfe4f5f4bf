"""A web server quicker than any: it looks for the ends of requests only, and answers all that have come at once.

So whoever asks is the limit, as long as many requests are under way on a connection.

    python -m bench.load.quick PORT FILE                      counts its answers in FILE, 8 bytes
    python -m bench.load.quick PORT FILE CERTIFICATE KEY      in TLS 1.3
"""

from __future__ import annotations

import mmap
import selectors
import socket
import ssl
import struct
import sys
from pathlib import Path
from typing import Final

ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
_END: Final = b"\r\n\r\n"
_MOST_BYTES: Final = 1 << 18
_COUNT: Final = struct.Struct("=Q")


def answered(file: Path) -> int:
    """How many requests it has answered until now."""
    return int(_COUNT.unpack(file.read_bytes())[0])


def main() -> None:
    """Answers until it is ended."""
    port, file, *identity = int(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]
    file.write_bytes(_COUNT.pack(0))
    with socket.create_server(("127.0.0.1", port)) as listener, file.open("r+b") as opened:
        serve(listener, mmap.mmap(opened.fileno(), _COUNT.size), _tls(*identity) if identity else None)


def _tls(certificate: str, key: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate, key)
    return context


def serve(listener: socket.socket, counter: mmap.mmap, tls: ssl.SSLContext | None) -> None:
    """Answers whoever connects."""
    selector = selectors.EpollSelector()
    selector.register(listener, selectors.EVENT_READ)
    begun: dict[socket.socket, bytes] = {}
    count = 0
    while True:
        for key, _ in selector.select():
            connection = key.fileobj
            assert isinstance(connection, socket.socket)
            if connection is listener:
                if (accepted := _accepted(listener, tls)) is not None:
                    selector.register(accepted, selectors.EVENT_READ)
                    begun[accepted] = b""
                continue
            data = _received(connection)
            if not data:
                selector.unregister(connection)
                del begun[connection]
                connection.close()
                continue
            data = begun[connection] + data
            ends = data.count(_END)
            # No end fits into what is kept, so that none counts twice.
            begun[connection] = data[1 - len(_END) :] if not data.endswith(_END) else b""
            if ends:
                connection.sendall(ends * ANSWER)
                count += ends
                counter[:] = _COUNT.pack(count)


def _accepted(listener: socket.socket, tls: ssl.SSLContext | None) -> socket.socket | None:
    """The connection after its handshake; nothing where somebody has only looked whether there is a server."""
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if tls is None:
        return connection
    try:
        return tls.wrap_socket(connection, server_side=True)
    except OSError:
        connection.close()
        return None


def _received(connection: socket.socket) -> bytes:
    """All that has come; nothing at the end."""
    try:
        data = connection.recv(_MOST_BYTES)
        while isinstance(connection, ssl.SSLSocket) and connection.pending():
            data += connection.recv(_MOST_BYTES)
    except OSError:
        return b""
    return data


if __name__ == "__main__":
    main()
