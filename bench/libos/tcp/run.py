"""TCP of the library OS against Linux's: streams through a network that loses frames, and connections by the thousand.

    make libos
    python -m bench.libos.tcp.run                            as root: Linux's side is a tap device in a namespace
    python -m bench.libos.tcp.run --megabytes 10 --connections 1000 --out build/tcp

Linux sends random bytes to the echo of the library OS in QEMU and compares what comes back; then it opens and closes
connections to its memcached, every other one by a reset, and asks it how many are left.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Final

from bench.command import collect, count, flags_of
from bench.libos.apps import MEMCACHED
from bench.libos.tcp.link import Trouble

from bayop.errors import BayopError, UnsupportedError
from bayop.experiments.rig.veth import Namespace, missing
from lab.libos import SERVICES, LibraryOs

BAD: Final = Trouble(lost=0.05, repeated=0.05, late=0.25)
GOOD: Final = Trouble(lost=0.0, repeated=0.0, late=0.0)

_STREAMS: Final = 16


_MODULE: Final = "bench.libos.tcp.run"


@dataclass(frozen=True, slots=True)
class Row:
    """What came through.

    Attributes:
        what: Streams or connections.
        amount: How much of it.
        network: What it does to frames.
        result: What was found.
        duration_s: How long it took.
    """

    what: str
    amount: str
    network: str
    result: str
    duration_s: float


def main(argv: Sequence[str] | None = None) -> int:
    """Runs all of it and writes the results."""
    flags = flags_of(_MODULE, __doc__)
    flags.add_argument("--megabytes", type=count, default=1000, metavar="N", help="each way (default: 1000)")
    flags.add_argument("--connections", type=count, default=100_000, metavar="N", help="one by one (default: 100000)")
    flags.add_argument("--seed", type=int, default=0, metavar="N", help="of the network's chance (default: 0)")

    def measured(args: argparse.Namespace) -> Iterator[Row]:
        return measure(megabytes=args.megabytes, connections=args.connections, seed=args.seed)

    return collect(_MODULE, flags, argv, measured, say=said, table=table)


def said(row: Row) -> str:
    """A row for people."""
    return f"{row.what}: {row.result}"


def measure(*, megabytes: int, connections: int, seed: int) -> Iterator[Row]:
    """Streams through a good network and a bad one, then connections.

    Raises:
        BayopError: A byte was wrong, something ended early, or a connection is left.
        UnsupportedError: This machine can't do it, or the image is not built.
    """
    reason = missing(["qemu-system-x86_64"])
    if reason is not None:
        raise UnsupportedError(wrong=f"this machine can't join Linux to the library OS: {reason}", hint=reason)
    for trouble in (GOOD, BAD):
        with _joined("app=echo", trouble, seed) as (namespace, machine):
            words = ("echo", machine.address(SERVICES["echo"].port))
            duration_s = _run(namespace, machine, *words, f"--streams={_STREAMS}", f"--megabytes={megabytes}")
            amount = f"{megabytes:,} MB each way on {_STREAMS} connections"
            yield Row("streams", amount, _say(trouble), f"intact, {megabytes / duration_s:.1f} MB/s", duration_s)
    with _joined("app=memcached", GOOD, seed) as (namespace, machine):
        address = machine.address(MEMCACHED.port)
        duration_s = _run(namespace, machine, "open", address, f"--connections={connections}")
        time.sleep(1.0)
        left = int(MEMCACHED.statistics(namespace, address)["curr_connections"]) - 1
        if left != 0:
            raise BayopError(wrong=f"{left} connections are left, which their clients have closed")
        result = f"all answered, none left, {connections / duration_s:,.0f} a second"
        yield Row("connections", f"{connections:,}", _say(GOOD), result, duration_s)


def table(rows: Sequence[Row]) -> str:
    """The results in Markdown."""
    lines = ["| what | how much | the network | result | seconds |", "|---|---|---|---|---:|"]
    for row in rows:
        *said, duration_s = astuple(row)
        lines.append(f"| {' | '.join(said)} | {duration_s:.0f} |")
    return "\n".join([*lines, ""])


@contextmanager
def _joined(words: str, trouble: Trouble, seed: int) -> Iterator[tuple[Namespace, LibraryOs]]:
    """A machine, and the namespace from which Linux reaches it."""
    namespace = Namespace()
    try:
        with tempfile.TemporaryDirectory(prefix="bayop-link-") as folder:
            shares = [f"--lost={trouble.lost}", f"--repeated={trouble.repeated}", f"--late={trouble.late}"]
            command = [sys.executable, "-m", "bench.libos.tcp.link", folder, *shares, f"--seed={seed}"]
            with subprocess.Popen(namespace.command(command), stdout=subprocess.PIPE, text=True) as link:
                try:
                    assert link.stdout is not None
                    if link.stdout.readline() != "ready\n":
                        raise BayopError(wrong="the link between Linux and the library OS does not start")
                    with LibraryOs(words, frames=Path(folder)) as machine:
                        yield namespace, machine
                finally:
                    link.kill()
    finally:
        namespace.close()


def _run(namespace: Namespace, machine: LibraryOs, *words: str) -> float:
    """Lets clients run, and says how many seconds they took."""
    start_s = time.monotonic()
    command = namespace.command([sys.executable, "-m", "bench.libos.tcp.clients", *words])
    run = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0 or not machine.is_up:
        said = [*run.stderr.strip().splitlines()[-1:], *machine.console.strip().splitlines()[-1:]]
        raise BayopError(wrong=f"not everything came through: {'; the machine: '.join(said)}")
    return time.monotonic() - start_s


def _say(trouble: Trouble) -> str:
    shares = ((trouble.lost, "lost"), (trouble.repeated, "repeated"), (trouble.late, "late"))
    return ", ".join(f"{100 * share:g} % {what}" for share, what in shares if share > 0.0) or "good"


if __name__ == "__main__":
    sys.exit(main())
