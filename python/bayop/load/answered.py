"""How many requests a server has answered, by its own count, which whoever else asks it is in."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from time import monotonic
from typing import Final

from bayop.load.plan import Dialect

_TIMEOUT_S: Final = 1.0
"""From the question to the end of the answer, however that comes in parts."""
_MOST_BYTES: Final = 1 << 20

_MEMCACHED: Final = (b"stats\r\nquit\r\n", re.compile(rb"^STAT cmd_(?:get|set) (\d+)\r?$", re.MULTILINE), 2)
_REDIS: Final = (b"INFO stats\r\nQUIT\r\n", re.compile(rb"^total_commands_processed:(\d+)\r?$", re.MULTILINE), 1)
_ASKED: Final[Mapping[Dialect, tuple[bytes, re.Pattern[bytes], int]]] = {
    "memcached": _MEMCACHED,
    "memcached-binary": _MEMCACHED,
    "redis": _REDIS,
}
"""What each is asked, the counters in what it answers, and how many they are; of memcached its reads and writes."""


def answered(dialect: Dialect, server: str) -> int | None:
    """How many requests a server has answered since it began.

    Args:
        dialect: What it speaks.
        server: `host:port`, or `[v6]:port`.

    Returns:
        None where it does not say that, or can't be asked.
    """
    if dialect not in _ASKED:
        return None
    question, counters, how_many = _ASKED[dialect]
    host, _, port = server.rpartition(":")
    said, until_s = b"", monotonic() + _TIMEOUT_S
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_TIMEOUT_S) as connection:
            connection.sendall(question)
            while len(said) < _MOST_BYTES and (more := connection.recv(1 << 16)):
                said += more
                connection.settimeout(max(until_s - monotonic(), 0.001))
    except OSError:
        return None
    return _sum(said, counters, how_many)


def read_memcached(stats: bytes) -> int | None:
    """How many reads and writes a memcached has answered by what it says of itself (`stats`); None: nothing of that."""
    _, counters, how_many = _MEMCACHED
    return _sum(stats, counters, how_many)


def _sum(said: bytes, counters: re.Pattern[bytes], how_many: int) -> int | None:
    counts = [int(count) for count in counters.findall(said)]
    return sum(counts) if len(counts) == how_many else None
