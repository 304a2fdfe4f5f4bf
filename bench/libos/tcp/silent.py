"""Clients of the library OS's memcached that ask for much and read nothing of it, for some time or for ever.

    python -m bench.libos.tcp.silent HOST:PORT --connections 16 --megabytes 4 --seconds 5
    python -m bench.libos.tcp.silent HOST:PORT --connections 4000 --megabytes 1

It runs in the network namespace of the link. After so many seconds it reads all of it, and fails when that is not what
was stored; without `--seconds` it says `silent`, and waits to be killed.
"""

from __future__ import annotations

import random
import resource
import signal
import socket
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from bench.libos.tcp.flags import flags_of, parse_address
from bench.libos.tcp.frames import Address

_TIMEOUT_S: Final = 120.0
_RECEIVE_BYTES: Final = 4096
_VALUE_BYTES: Final = 10_000
_VALUE: Final = random.Random(0).randbytes(_VALUE_BYTES)
_KEY: Final = b"value"
_ITEM: Final = b"VALUE %s 0 %d\r\n%s\r\n" % (_KEY, _VALUE_BYTES, _VALUE)
_LINE_KEYS: Final = 100


def main(argv: Sequence[str] | None = None) -> int:
    """Asks."""
    flags = flags_of("bench.libos.tcp.silent", __doc__)
    flags.add_argument("address", type=parse_address, metavar="HOST:PORT")
    flags.add_argument("--connections", type=int, default=1, metavar="N", help="how many (default: 1)")
    flags.add_argument("--megabytes", type=int, default=1, metavar="N", help="on each (default: 1)")
    flags.add_argument("--seconds", type=float, metavar="N", help="until it reads (default: it never does)")
    args = flags.parse_args(argv)
    address = args.address
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    store(address)
    lines = args.megabytes * 1_000_000 // (_LINE_KEYS * _VALUE_BYTES)
    clients = [asking(address, lines) for _ in range(args.connections)]
    if args.seconds is None:
        print("silent", flush=True)
        signal.pause()
    time.sleep(args.seconds)
    with ThreadPoolExecutor(len(clients)) as readers:
        list(readers.map(lambda client: read(client, lines), clients))
    return 0


def store(address: Address) -> None:
    """Stores what is asked for.

    Raises:
        OSError: It is not taken.
    """
    with socket.create_connection(address, timeout=_TIMEOUT_S) as client:
        client.sendall(b"set %s 0 0 %d\r\n%s\r\n" % (_KEY, _VALUE_BYTES, _VALUE))
        if client.recv(100) != b"STORED\r\n":
            raise OSError("a value is not stored")


def asking(address: Address, lines: int) -> socket.socket:
    """A connection with little room that has asked, and has read nothing."""
    client = socket.socket()
    client.settimeout(_TIMEOUT_S)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BYTES)
    client.connect(address)
    client.sendall(lines * (b"get" + _LINE_KEYS * (b" " + _KEY) + b"\r\n"))
    return client


def read(client: socket.socket, lines: int) -> None:
    """Reads all that was asked for.

    Raises:
        OSError: It is not what was stored.
    """
    expected = _LINE_KEYS * _ITEM + b"END\r\n"
    with client, client.makefile("rb") as answers:
        if any(answers.read(len(expected)) != expected for _ in range(lines)):
            raise OSError("what was read late is not what was stored")


if __name__ == "__main__":
    sys.exit(main())
