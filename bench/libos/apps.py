"""The services that are counted on the library OS and on Linux: how each is loaded, and what it says it has served."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bayop.experiments.rig.veth import Namespace

_ASK: Final = """
import socket, struct, sys
layout = struct.Struct(">BBHBBHIIQ")
with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=10) as client, client.makefile("rb") as answers:
    client.sendall(layout.pack(0x80, 0x10, 0, 0, 0, 0, 0, 0, 0))
    while True:
        _, _, key_bytes, _, _, _, body_bytes, _, _ = layout.unpack(answers.read(layout.size))
        if body_bytes == 0:
            break
        body = answers.read(body_bytes).decode()
        print("STAT", body[:key_bytes], body[key_bytes:])
"""
"""What asks for statistics by memcached's binary protocol, in the namespace where the machine can be reached."""


@dataclass(frozen=True)
class App:
    """A service.

    Args:
        name: As the library OS calls it (`app=`).
        port: Where it listens.
        load: What `bayop load` is told of it.
        requests: Its statistics whose sum is how many requests it has served.
        has_connections: Whether it says how many connections are open.
    """

    name: str
    port: int
    load: str
    requests: Sequence[str]
    has_connections: bool

    def served(self, namespace: Namespace, address: str) -> int:
        """How many requests it has served."""
        said = self.statistics(namespace, address)
        return sum(int(said[name]) for name in self.requests)

    def is_loaded(self, namespace: Namespace, address: str, connections: int) -> bool:
        """Whether the load has opened its connections, which it does before its first request."""
        if self.has_connections:
            return int(self.statistics(namespace, address)["curr_connections"]) > connections
        return self.served(namespace, address) > 0

    def statistics(self, namespace: Namespace, address: str) -> dict[str, str]:
        """What it says of itself, by name."""
        ask = namespace.command([sys.executable, "-c", _ASK, *address.split(":")])
        run = subprocess.run(ask, capture_output=True, text=True, check=True)
        return dict(re.findall(r"STAT (\S+) (\S+)", run.stdout))


MEMCACHED: Final = App(
    "memcached", 11211, "--workload etc -u 0.25 -r 2000", requests=("cmd_get", "cmd_set"), has_connections=True
)
TPCC: Final = App(
    "tpcc",
    11311,
    "--binary --noload",
    requests=("new_order", "payment", "order_status", "delivery", "stock_level"),
    has_connections=False,
)
ECHO: Final = App("echo", 7, "--protocol echo", requests=(), has_connections=False)
"""NetPIPE's other side, which counts nothing itself."""
APPS: Final = {app.name: app for app in (MEMCACHED, TPCC)}
