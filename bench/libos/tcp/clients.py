"""Linux's side, in the network namespace of the link: streams that come back, and connections by the thousand.

    python -m bench.libos.tcp.clients echo HOST:PORT --streams 4 --megabytes 1000
    python -m bench.libos.tcp.clients open HOST:PORT --connections 100000
    python -m bench.libos.tcp.clients ask HOST:PORT --seconds 10

The first two fail when a byte is wrong or does not come. The third opens connections for so long, and says how many
were answered, and of how many.
"""

from __future__ import annotations

import random
import socket
import struct
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Thread
from typing import Final

from bench.libos.tcp.flags import flags_of, parse_address
from bench.libos.tcp.link import SOURCES

_TIMEOUT_S: Final = 120.0
_READ_BYTES: Final = 256 << 10
_PATTERN_BYTES: Final = 1_000_003
"""Of a stream, which then repeats: a prime, so that no piece looks like one that comes a buffer's length later."""
_AT_ONCE: Final = 4
# linux/in.h
_IP_BIND_ADDRESS_NO_PORT: Final = 24


def main(argv: Sequence[str] | None = None) -> int:
    """Does one of the three."""
    flags = flags_of("bench.libos.tcp.clients", __doc__)
    flags.add_argument("what", choices=["echo", "open", "ask"])
    flags.add_argument("address", type=parse_address, metavar="HOST:PORT")
    flags.add_argument("--streams", type=int, default=1, metavar="N", help="connections of `echo` (default: 1)")
    flags.add_argument("--megabytes", type=int, default=1, metavar="N", help="that come back on them (default: 1)")
    flags.add_argument("--connections", type=int, default=1, metavar="N", help="of `open`, one by one (default: 1)")
    flags.add_argument("--seconds", type=float, default=1.0, metavar="N", help="of `ask` (default: 1)")
    args = flags.parse_args(argv)
    address = args.address
    if args.what == "echo":
        each = args.megabytes * 1_000_000 // args.streams
        with ThreadPoolExecutor(args.streams) as streams:
            list(streams.map(lambda seed: echo(address, each, seed), range(args.streams)))
        return 0
    with ThreadPoolExecutor(_AT_ONCE) as some:
        if args.what == "open":
            list(some.map(lambda number: open_and_close(address, number), range(args.connections)))
        else:
            counts = list(some.map(lambda number: ask(address, number, args.seconds), range(_AT_ONCE)))
            print(*map(sum, zip(*counts, strict=True)))
    return 0


def echo(address: tuple[str, int], length: int, seed: int) -> None:
    """Sends a stream to who gives it back, and compares.

    Raises:
        OSError: It ends early, or is another.
    """
    pattern = random.Random(seed).randbytes(_PATTERN_BYTES)
    again = pattern + pattern[:_READ_BYTES]
    with socket.create_connection(address, timeout=_TIMEOUT_S) as client:

        def send() -> None:
            with suppress(OSError):  # whoever reads what comes back sees it too
                for start in range(0, length, len(pattern)):
                    client.sendall(pattern[: length - start])

        sender = Thread(target=send)
        sender.start()
        came = 0
        while came < length:
            piece = client.recv(_READ_BYTES)
            at = came % len(pattern)
            if not piece or piece != again[at : at + len(piece)]:
                raise OSError(f"stream {seed} {'is not what was sent' if piece else 'ends'} after {came} bytes")
            came += len(piece)
        sender.join()


def open_and_close(address: tuple[str, int], number: int) -> None:
    """Opens a connection to a memcached, asks it one thing, and closes it: every other one by a reset.

    Raises:
        OSError: It is not answered.
    """
    with socket.socket() as client:
        client.settimeout(_TIMEOUT_S)
        client.setsockopt(socket.IPPROTO_IP, _IP_BIND_ADDRESS_NO_PORT, 1)
        client.bind((SOURCES[number % len(SOURCES)], 0))
        client.connect(address)
        client.sendall(b"version\r\n")
        if not client.recv(100).startswith(b"VERSION"):
            raise OSError(f"connection {number} has no answer")
        if number % 2:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def ask(address: tuple[str, int], first: int, seconds: float) -> tuple[int, int]:
    """Opens and closes connections one by one for so long: how many were answered, and of how many."""
    answered = tried = 0
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        with suppress(OSError):
            open_and_close(address, first + _AT_ONCE * tried)
            answered += 1
        tried += 1
    return answered, tried


if __name__ == "__main__":
    sys.exit(main())
