"""Instructions that a request takes on the library OS and on Linux, in one emulated machine.

The emulated processor counts (count.c), and the service's own statistics say how many requests there were in the same
time. What is counted is all that the machine executes, its sleeps and wake-ups too. Linux runs in the same machine:
one processor, the same NIC. memcached is asked for three reads to an update, in the sizes of Facebook's ETC, TPC-C for
the mix of its transactions, at a constant rate, spread over all connections: where they are many, most are idle.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from bench.libos.apps import APPS, App
from bench.libos.linux import LINUX, Linux
from bench.libos.plan import LIBRARY_OS, Point

from bayop.errors import BayopError, UnsupportedError
from bayop.experiments.rig.veth import Namespace, missing
from lab.libos import LibraryOs

SETTLE_S: Final = 4.0
"""Until what opening connections and storing records has left behind is done."""
_SPARE_S: Final = 15.0
"""How much longer the load may last than the window: it ends when the window does, on a busy machine later."""
_PLUGIN: Final = Path(__file__).with_name("count.c")


@dataclass(frozen=True)
class Window:
    """What was counted in one window.

    Args:
        app: One of `APPS`.
        system: One of `plan.SYSTEMS`.
        connections: How many were open.
        qps: The load that was offered, in requests per second.
        requests: How many were served.
        instructions_per_request: What the processor executed for each.
        interrupts_per_request: How often it returned from an interrupt or exception for each.
        halts_per_request: How often it went to sleep for each.
    """

    app: str
    system: str
    connections: int
    qps: float
    requests: int
    instructions_per_request: float
    interrupts_per_request: float
    halts_per_request: float


@dataclass(frozen=True)
class Cost:
    """What windows of one service on one system under one load say: medians, least and greatest."""

    app: str
    system: str
    connections: int
    qps: float
    instructions_per_request: float
    instructions_least: float
    instructions_greatest: float
    interrupts_per_request: float
    halts_per_request: float


def count(points: Sequence[Point], *, window_s: float, repeats: int) -> Iterator[Window]:
    """Windows of each point on each of its systems, each with a machine of its own.

    The systems take turns, so that what else this machine does falls on all of them.

    Raises:
        LabError: A machine does not start.
        UnsupportedError: This machine can't count, or something is not built.
    """
    with counting() as counter:
        linux = Linux(counter.folder) if any(set(point.systems) & set(LINUX) for point in points) else None
        for point in points:
            app = APPS[point.app]
            for system in [*point.systems] * repeats:
                kernel = () if system == LIBRARY_OS or linux is None else linux.boot(system, app)
                yield one(
                    counter,
                    app=app,
                    system=system,
                    kernel=kernel,
                    connections=point.connections,
                    qps=point.qps,
                    window_s=window_s,
                )


@dataclass(frozen=True)
class Counter:
    """What counts, and where machines and their clients meet.

    Args:
        folder: For files, as long as it counts.
        namespace: Where clients are.
    """

    folder: Path
    namespace: Namespace

    @property
    def arguments(self) -> Sequence[str]:
        """What QEMU is told."""
        return "-plugin", f"{self.folder / 'count.so'},out={self.folder / 'counters'}"

    def window(
        self,
        app: App,
        address: str,
        load: subprocess.Popen[bytes],
        *,
        connections: int,
        settle_s: float,
        window_s: float,
    ) -> tuple[int, int, int, int]:
        """Counts under a load: requests, instructions, halts, and returns from interrupts and exceptions.

        Raises:
            BayopError: The load ends before all connections are open.
        """
        while not app.is_loaded(self.namespace, address, connections):
            must_run(load)
            time.sleep(0.2)
        time.sleep(settle_s)
        first = self._look(app, address)
        time.sleep(window_s)
        last = self._look(app, address)
        requests, instructions, halts, returns = (after - before for before, after in zip(first, last, strict=True))
        return requests, instructions, halts, returns

    def counted(self) -> tuple[int, int, int]:
        """What the machine has executed so far: instructions, halts, and returns from interrupts and exceptions."""
        instructions, halts, returns = struct.unpack("QQQ", (self.folder / "counters").read_bytes())
        return instructions, halts, returns

    def _look(self, app: App, address: str) -> tuple[int, ...]:
        return app.served(self.namespace, address), *self.counted()


@contextmanager
def counting() -> Iterator[Counter]:
    """Builds what counts.

    Raises:
        UnsupportedError: This machine can't count.
    """
    reason = missing(["cc", "qemu-system-x86_64"])
    if reason is not None:
        raise UnsupportedError(wrong=f"this machine can't count: {reason}", hint=reason)
    with tempfile.TemporaryDirectory(prefix="bayop-libos-bench-") as folder:
        compiler = ["cc", "-O2", "-Wall", "-Werror", "-fPIC", "-shared", "-o", f"{folder}/count.so", str(_PLUGIN)]
        subprocess.run(compiler, check=True)
        namespace = Namespace()
        try:
            yield Counter(Path(folder), namespace)
        finally:
            namespace.close()


def one(
    counter: Counter,
    *,
    app: App,
    system: str,
    kernel: Sequence[str],
    connections: int,
    qps: float,
    window_s: float,
) -> Window:
    """One window."""
    namespace = counter.namespace
    with LibraryOs(
        f"app={app.name}", inside=namespace.command([]), arguments=counter.arguments, kernel=kernel
    ) as machine:
        address = machine.address(app.port)
        words = f"load -s {address} {app.load} -q {qps:g} -c {connections} -w {SETTLE_S + 1:g}s".split()
        command = [sys.executable, "-m", "bayop", *words, "-t", f"{window_s + _SPARE_S:g}s", "--json"]
        with subprocess.Popen(namespace.command(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as load:
            requests, instructions, halts, returns = counter.window(
                app, address, load, connections=connections, settle_s=SETTLE_S, window_s=window_s
            )
            must_run(load)
            load.kill()
        namespace.run("ip", "link", "delete", "libos0")
    each = (number / requests for number in (instructions, returns, halts))
    return Window(app.name, system, connections, qps, requests, *each)


def must_run(load: subprocess.Popen[bytes]) -> None:
    """The load must not have ended.

    Raises:
        BayopError: It has.
    """
    if load.poll() is not None:
        said = load.communicate()[0].decode().strip()
        raise BayopError(wrong=f"the load generator ended early: {said}", hint="on a quieter machine, again")


def costs(windows: Sequence[Window]) -> Sequence[Cost]:
    """What the windows say, in their order."""
    rows: dict[tuple[str, str, int, float], list[Window]] = {}
    for window in windows:
        rows.setdefault((window.app, window.system, window.connections, window.qps), []).append(window)
    return [
        Cost(
            *row,
            median(window.instructions_per_request for window in found),
            min(window.instructions_per_request for window in found),
            max(window.instructions_per_request for window in found),
            median(window.interrupts_per_request for window in found),
            median(window.halts_per_request for window in found),
        )
        for row, found in rows.items()
    ]


def table(windows: Sequence[Window]) -> str:
    """What the windows say, in Markdown."""
    header, *rows = cells(windows)
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows))


def cells(windows: Sequence[Window]) -> Sequence[Sequence[str]]:
    """What the windows say as a table: its header and its rows."""
    header = (
        *("app", "system", "connections", "requests/s"),
        *("instructions a request", "least to greatest", "interrupts a request", "sleeps a request"),
    )
    return [
        header,
        *(
            (
                *(cost.app, cost.system, f"{cost.connections:,}", f"{cost.qps:g}"),
                f"{cost.instructions_per_request:,.0f}",
                f"{cost.instructions_least:,.0f} to {cost.instructions_greatest:,.0f}",
                *(f"{cost.interrupts_per_request:.2f}", f"{cost.halts_per_request:.2f}"),
            )
            for cost in costs(windows)
        ),
    ]
