"""Does the library OS need more and more memory? Millions of requests, and what its allocator has handed out meanwhile.

    make libos
    python -m bench.libos.soak.run                               as root: QEMU gets a tap device in a namespace
    python -m bench.libos.soak.run --requests 200000 --out build/soak

memcached under Facebook's ETC in a closed loop, with new connections every half minute. Each update of an item has
another length.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bench.command import collect, flags_of
from bench.libos.apps import MEMCACHED

from bayop.errors import BayopError, UnsupportedError
from bayop.experiments.rig.veth import Namespace, missing
from lab.libos import AGENT_PORT, LibraryOs

_CONNECTIONS: Final = 64
_STRETCH_S: Final = 30
_RECORDS: Final = 50_000
_ASK: Final = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())"


_MODULE: Final = "bench.libos.soak.run"


@dataclass(frozen=True, slots=True)
class Row:
    """The state between two loads.

    Attributes:
        time_s: Since the first one began.
        requests: How many were served so far.
        connections: How many connections there have been.
        memory_used_bytes: What the allocator has handed out at most.
    """

    time_s: float
    requests: int
    connections: int
    memory_used_bytes: int


def main(argv: Sequence[str] | None = None) -> int:
    """Serves so many requests and writes the results."""
    flags = flags_of(_MODULE, __doc__)
    flags.add_argument("--requests", type=int, default=24_000_000, metavar="N", help="default: 24000000")
    return collect(_MODULE, flags, argv, lambda args: measure(args.requests), say=said, table=table)


def said(row: Row) -> str:
    """A row for people."""
    return f"{row.requests:,} requests: {row.memory_used_bytes:,} bytes"


def measure(requests: int) -> Iterator[Row]:
    """The state after each load, until so many requests were served.

    Raises:
        BayopError: The machine or a load ends early.
        UnsupportedError: This machine can't do it, or the image is not built.
    """
    reason = missing(["qemu-system-x86_64"])
    if reason is not None:
        raise UnsupportedError(wrong=f"this machine has no place for it: {reason}", hint=reason)
    namespace = Namespace()
    try:
        with LibraryOs("agent=on", inside=namespace.command([])) as machine:
            began_s, served = time.monotonic(), 0
            while served < requests:
                load(namespace, machine)
                row = look(namespace, machine, time.monotonic() - began_s)
                if row.requests == served or not machine.is_up:
                    raise BayopError(wrong=f"nothing was served any more; the machine said: {machine.console.strip()}")
                served = row.requests
                yield row
    finally:
        namespace.close()


def load(namespace: Namespace, machine: LibraryOs) -> None:
    """Loads it for a stretch, over new connections."""
    words = f"load -s {machine.address(MEMCACHED.port)} --workload etc -r {_RECORDS} --closed-loop -c {_CONNECTIONS}"
    command = [sys.executable, "-m", "bayop", *words.split(), "-t", f"{_STRETCH_S}s", "-w", "0s", "--json"]
    run = subprocess.run(namespace.command(command), capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise BayopError(wrong=f"the load ended early: {run.stderr.strip()}")


def look(namespace: Namespace, machine: LibraryOs, time_s: float) -> Row:
    """What it says of itself."""
    said = MEMCACHED.statistics(namespace, machine.address(MEMCACHED.port))
    used = sensors(namespace, machine)["memory_used_bytes@machine"]
    return Row(
        time_s=round(time_s, 1),
        requests=sum(int(said[name]) for name in MEMCACHED.requests),
        connections=int(said["total_connections"]),
        memory_used_bytes=int(used),
    )


def sensors(namespace: Namespace, machine: LibraryOs) -> dict[str, float]:
    """What its agent reads, by name and place; who asks is where its clients are."""
    ask = namespace.command([sys.executable, "-c", _ASK, f"http://{machine.address(AGENT_PORT)}/v1/sensors"])
    said = json.loads(subprocess.run(ask, capture_output=True, text=True, check=True, timeout=60).stdout)
    return {f"{reading['name']}@{reading['at']}": reading["value"] for reading in said["readings"]}


def table(rows: Sequence[Row]) -> str:
    """The rows in Markdown, of many a part."""
    lines = ["| requests | connections | memory |", "|---:|---:|---:|"]
    shown = rows[:: max(1, len(rows) // 8)]
    for row in [*shown, *(rows[-1:] if rows[-1] not in shown else ())]:
        mib = f"{row.memory_used_bytes / 2**20:.3f} MiB"
        lines.append(f"| {row.requests:,} | {row.connections:,} | {mib} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
