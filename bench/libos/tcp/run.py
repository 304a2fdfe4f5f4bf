"""TCP of the library OS against Linux's: streams through a bad network, connections by the thousand, attacks.

    make libos
    python -m bench.libos.tcp.run                            as root: Linux's side is a tap device in a namespace
    python -m bench.libos.tcp.run --megabytes 10 --connections 1000 --out build/tcp

Linux sends random bytes to the echo of the library OS in QEMU and compares what comes back; then it opens and closes
connections to its memcached, every other one by a reset, and asks it how many are left. It does so while SYNs come from
forged addresses, and beside thousands of clients that ask for much and read nothing; and resets connections in every
state.
"""

from __future__ import annotations

import argparse
import itertools
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
from bench.libos.soak.run import sensors
from bench.libos.tcp.link import Trouble

from bayop.errors import BayopError, UnsupportedError
from bayop.experiments.rig.veth import Namespace, missing
from lab.libos import SERVICES, LibraryOs

BAD: Final = Trouble(lost=0.05, repeated=0.05, late=0.25)
GOOD: Final = Trouble(lost=0.0, repeated=0.0, late=0.0)

PARTS: Final = ("streams", "connections", "flood", "resets", "silence")

_STREAMS: Final = 16
_LATE_MEGABYTES: Final = 4
_AFTERWARDS: Final = 500
"""Connections that are opened and closed to see that all is as before."""
_FORGOTTEN_S: Final = 70.0
"""Of thousands of resets at once the tap device loses some; within a minute the next probe of the window is answered by
one, too."""
_SILENT_MACHINE: Final = ("-m", "1024")
"""Room for some thousands of connections that each hold as much as they may."""

_MODULE: Final = "bench.libos.tcp.run"


@dataclass(frozen=True, slots=True)
class Row:
    """What came through.

    Attributes:
        what: Streams, connections, or what is done to them.
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
    flags.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="these alone (default: all)")
    flags.add_argument("--megabytes", type=count, default=1000, metavar="N", help="each way (default: 1000)")
    flags.add_argument("--connections", type=count, default=100_000, metavar="N", help="one by one (default: 100000)")
    flags.add_argument("--seconds", type=count, default=10, metavar="N", help="of a flood, of silence (default: 10)")
    flags.add_argument("--silent", type=count, default=4000, metavar="N", help="who read nothing (default: 4000)")
    flags.add_argument("--seed", type=int, default=0, metavar="N", help="of the network's chance (default: 0)")

    def measured(args: argparse.Namespace) -> Iterator[Row]:
        parts = {
            "streams": streams(megabytes=args.megabytes, seed=args.seed),
            "connections": connections(args.connections),
            "flood": flood(args.seconds),
            "resets": resets(),
            "silence": silence(args.seconds, args.silent),
        }
        return itertools.chain.from_iterable(parts[part] for part in args.parts)

    return collect(_MODULE, flags, argv, measured, say=said, table=table)


def said(row: Row) -> str:
    """A row for people."""
    return f"{row.what}: {row.result}"


def streams(*, megabytes: int, seed: int) -> Iterator[Row]:
    """Streams through a good network and a bad one.

    Raises:
        BayopError: A byte was wrong, or something ended early.
        UnsupportedError: This machine can't do it, or the image is not built.
    """
    for trouble in (GOOD, BAD):
        with joined("app=echo", trouble, seed) as link:
            words = (link.machine.address(SERVICES["echo"].port), f"--streams={_STREAMS}", f"--megabytes={megabytes}")
            _, duration_s = link.run("clients", "echo", *words)
        amount = f"{megabytes:,} MB each way on {_STREAMS} connections"
        yield Row("streams", amount, _say(trouble), f"intact, {megabytes / duration_s:.1f} MB/s", duration_s)


def connections(number: int) -> Iterator[Row]:
    """Connections that are opened and closed.

    Raises:
        BayopError: One was not answered, or is left.
        UnsupportedError: As of `streams`.
    """
    with joined("app=memcached") as link:
        _, duration_s = link.run("clients", "open", link.address, f"--connections={number}")
        link.check_none_left()
    result = f"all answered, none left, {number / duration_s:,.0f} a second"
    yield Row("connections", f"{number:,}", _say(GOOD), result, duration_s)


def flood(seconds: float) -> Iterator[Row]:
    """SYNs from forged addresses, and beside them connections that are opened and closed, for so long.

    Raises:
        BayopError: One that came afterwards was not answered, or one is left.
        UnsupportedError: As of `streams`.
    """
    with joined("app=memcached agent=on") as link:
        link.run("clients", "open", link.address, f"--connections={_AFTERWARDS}")
        before = link.memory_bytes()
        with link.start("flood", link.address, str(link.folder), f"--seconds={seconds}") as flooding:
            said, duration_s = link.run("clients", "ask", link.address, f"--seconds={seconds}")
            syns = int(flooding.communicate()[0])
        taken = link.memory_bytes() - before
        link.run("clients", "open", link.address, f"--connections={_AFTERWARDS}")
        link.check_none_left()
    answered, tried = map(int, said.split())
    result = f"{answered:,} of {tried:,} connections beside it answered, and all afterwards; {_mib(taken)} taken"
    yield Row("SYN flood", f"{syns:,} from as many addresses", _say(GOOD), result, duration_s)


def resets() -> Iterator[Row]:
    """Resets of connections in each state, forged ones before those of their clients.

    Raises:
        BayopError: A forged one has ended a connection, or its client's has not; or one is left.
        UnsupportedError: As of `streams`.
    """
    with joined("app=memcached") as link:
        said, duration_s = link.run("resets", link.address)
        link.run("clients", "open", link.address, f"--connections={_AFTERWARDS}")
        link.check_none_left()
    result = "by who has the connection: gone at once, none left; forged: still there"
    yield Row("resets", f"in {len(said.splitlines())} states", _say(GOOD), result, duration_s)


def silence(seconds: float, number: int) -> Iterator[Row]:
    """Clients that ask for megabytes and read them late; then many that never do, and others beside them.

    Raises:
        BayopError: What was read late is another, one of the others was not answered, one is left when all are killed,
            or as many take more memory a second time.
        UnsupportedError: As of `streams`.
    """
    with joined("app=memcached agent=on", arguments=_SILENT_MACHINE) as link:
        words = (f"--connections={_STREAMS}", f"--megabytes={_LATE_MEGABYTES}", f"--seconds={seconds}")
        _, duration_s = link.run("silent", link.address, *words)
        link.check_none_left()
        amount = f"{_STREAMS} connections, {_LATE_MEGABYTES} MB each"
        yield Row("read late", amount, _say(GOOD), f"after {seconds:g} s without room: intact", duration_s)
        start_s, used = time.monotonic(), [link.memory_bytes()]
        for _ in range(2):
            with link.start("silent", link.address, f"--connections={number}") as silent:
                try:
                    assert silent.stdout is not None
                    if silent.stdout.readline() != "silent\n":
                        raise BayopError(wrong=f"only some of {number:,} silent clients are let in")
                    link.run("clients", "open", link.address, f"--connections={_AFTERWARDS}")
                finally:
                    silent.kill()
            link.check_none_left(_FORGOTTEN_S)
            used.append(link.memory_bytes())
        first, again = used[1] - used[0], used[2] - used[1]
        if again > first / 10:
            raise BayopError(
                wrong=f"what killed clients have taken is not given back: {_mib(first)}, {_mib(again)} more"
            )
        each = f"{first / number / 1024:.0f} KiB each, a second time {again / number / 1024:.0f} more"
        result = f"{_AFTERWARDS:,} others beside them answered; killed, none left; {each}"
        yield Row("never read", f"{number:,} connections, 1 MB each", _say(GOOD), result, time.monotonic() - start_s)


def table(rows: Sequence[Row]) -> str:
    """The results in Markdown."""
    lines = ["| what | how much | the network | result | seconds |", "|---|---|---|---|---:|"]
    for row in rows:
        *said, duration_s = astuple(row)
        lines.append(f"| {' | '.join(said)} | {duration_s:.0f} |")
    return "\n".join([*lines, ""])


@dataclass(frozen=True)
class Link:
    """A machine, and the namespace from which Linux reaches it.

    Args:
        namespace: Linux's side.
        machine: The library OS.
        folder: Where the link's sockets are.
    """

    namespace: Namespace
    machine: LibraryOs
    folder: Path

    @property
    def address(self) -> str:
        """HOST:PORT of its memcached."""
        return self.machine.address(MEMCACHED.port)

    def start(self, module: str, *words: str) -> subprocess.Popen[str]:
        """Starts clients, modules of this package."""
        command = self.namespace.command([sys.executable, "-m", f"bench.libos.tcp.{module}", *words])
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, module: str, *words: str) -> tuple[str, float]:
        """Lets clients run: what they say, and how many seconds they took.

        Raises:
            BayopError: They fail, or the machine ends.
        """
        start_s = time.monotonic()
        with self.start(module, *words) as clients:
            said, wrong = clients.communicate()
        if clients.returncode != 0 or not self.machine.is_up:
            last = [*wrong.strip().splitlines()[-1:], *self.machine.console.strip().splitlines()[-1:]]
            raise BayopError(wrong=f"not everything came through: {'; the machine: '.join(last)}")
        return said, time.monotonic() - start_s

    def check_none_left(self, within_s: float = 1.0) -> None:
        """Asks its memcached how many connections there are, until there is none but that.

        Raises:
            BayopError: There are others even then.
        """
        end_s = time.monotonic() + within_s
        while left := int(MEMCACHED.statistics(self.namespace, self.address)["curr_connections"]) - 1:
            if time.monotonic() > end_s:
                raise BayopError(wrong=f"{left} connections are left, which their clients have closed")
            time.sleep(0.1)

    def memory_bytes(self) -> int:
        """The most that its allocator has handed out so far."""
        return int(sensors(self.namespace, self.machine)["memory_used_bytes@machine"])


@contextmanager
def joined(words: str, trouble: Trouble = GOOD, seed: int = 0, arguments: Sequence[str] = ()) -> Iterator[Link]:
    """A machine that is told `words`, QEMU some `arguments`, behind a network of its own.

    Raises:
        BayopError: It can't be reached.
        UnsupportedError: This machine can't do it, or the image is not built.
    """
    reason = missing(["qemu-system-x86_64"])
    if reason is not None:
        raise UnsupportedError(wrong=f"this machine can't join Linux to the library OS: {reason}", hint=reason)
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
                    with LibraryOs(words, frames=Path(folder), arguments=arguments) as machine:
                        yield Link(namespace, machine, Path(folder))
                finally:
                    link.kill()
    finally:
        namespace.close()


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / 2**20:.1f} MiB"


def _say(trouble: Trouble) -> str:
    shares = ((trouble.lost, "lost"), (trouble.repeated, "repeated"), (trouble.late, "late"))
    return ", ".join(f"{100 * share:g} % {what}" for share, what in shares if share > 0.0) or "good"


if __name__ == "__main__":
    sys.exit(main())
