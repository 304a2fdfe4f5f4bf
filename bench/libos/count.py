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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.libos.apps import APPS, App
from bench.libos.plan import Point
from bench.libos.systems import System, systems

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
        layers: The instructions for each, by whose they are (`bench.libos.layers`), where that can be told.
    """

    app: str
    system: str
    connections: int
    qps: float
    requests: int
    instructions_per_request: float
    interrupts_per_request: float
    halts_per_request: float
    layers: Mapping[str, float] = field(default_factory=dict)


def count(points: Sequence[Point], *, window_s: float, repeats: int) -> Iterator[Window]:
    """Windows of each point on each of its systems, each with a machine of its own.

    The systems take turns, so that what else this machine does falls on all of them.

    Raises:
        LabError: A machine does not start.
        UnsupportedError: This machine can't count, or something is not built.
    """
    with counting() as counter:
        built = systems(counter.folder, {name for point in points for name in point.systems})
        for point in points:
            for name in [*point.systems] * repeats:
                yield one(counter, point, built[name], window_s=window_s)


@dataclass(frozen=True)
class Counted:
    """What a machine has executed.

    Args:
        halts: How often it went to sleep.
        returns: How often it returned from an interrupt or exception.
        layers: Instructions, by the numbers of layers.
    """

    halts: int
    returns: int
    layers: Sequence[int]

    @property
    def instructions(self) -> int:
        """All of them."""
        return sum(self.layers)

    def __sub__(self, before: Counted) -> Counted:
        layers = [after - first for after, first in zip(self.layers, before.layers, strict=True)]
        return Counted(self.halts - before.halts, self.returns - before.returns, layers)


@dataclass(frozen=True)
class Counter:
    """What counts, and where machines and their clients meet.

    Args:
        folder: For files, as long as it counts.
        namespace: Where clients are.
    """

    folder: Path
    namespace: Namespace

    def arguments(self, ranges: Path | None = None) -> Sequence[str]:
        """What QEMU is told; `ranges` is a file of those whose instructions are told apart."""
        apart = "" if ranges is None else f",ranges={ranges}"
        return "-plugin", f"{self.folder / 'count.so'},out={self.folder / 'counters'}{apart}"

    def window(
        self,
        app: App,
        address: str,
        load: subprocess.Popen[bytes],
        *,
        connections: int,
        settle_s: float,
        window_s: float,
    ) -> tuple[int, Counted]:
        """Counts under a load: the requests, and what was executed.

        Raises:
            BayopError: The load ends before all connections are open.
        """
        while not app.is_loaded(self.namespace, address, connections):
            must_run(load)
            time.sleep(0.2)
        time.sleep(settle_s)
        served, before = app.served(self.namespace, address), self.counted()
        time.sleep(window_s)
        return app.served(self.namespace, address) - served, self.counted() - before

    def counted(self) -> Counted:
        """What the machine has executed so far."""
        numbers = (self.folder / "counters").read_bytes()
        halts, returns, *layers = struct.unpack(f"{len(numbers) // 8}Q", numbers)
        return Counted(halts, returns, layers)


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


def one(counter: Counter, point: Point, system: System, *, window_s: float) -> Window:
    """One window."""
    app, namespace = APPS[point.app], counter.namespace
    arguments, kernel = counter.arguments(system.ranges), system.boot(app)
    with LibraryOs(f"app={app.name}", inside=namespace.command([]), arguments=arguments, kernel=kernel) as machine:
        address = machine.address(app.port)
        words = f"load -s {address} {app.load} -q {point.qps:g} -c {point.connections} -w {SETTLE_S + 1:g}s".split()
        command = [sys.executable, "-m", "bayop", *words, "-t", f"{window_s + _SPARE_S:g}s", "--json"]
        with subprocess.Popen(namespace.command(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as load:
            requests, counted = counter.window(
                app, address, load, connections=point.connections, settle_s=SETTLE_S, window_s=window_s
            )
            must_run(load)
            load.kill()
        namespace.run("ip", "link", "delete", "libos0")
    layers = {name: number / requests for name, number in zip(system.layers, counted.layers, strict=False)}
    return Window(
        app=app.name,
        system=system.name,
        connections=point.connections,
        qps=point.qps,
        requests=requests,
        instructions_per_request=counted.instructions / requests,
        interrupts_per_request=counted.returns / requests,
        halts_per_request=counted.halts / requests,
        layers=dict(reversed(layers.items())),  # from the wire up
    )


def must_run(load: subprocess.Popen[bytes]) -> None:
    """The load must not have ended.

    Raises:
        BayopError: It has.
    """
    if load.poll() is not None:
        said = load.communicate()[0].decode().strip()
        raise BayopError(wrong=f"the load generator ended early: {said}", hint="on a quieter machine, again")
