"""What the NIC's interrupt delay does on the library OS and on Linux, and polling against interrupts.

    make libos && cargo build --release --package bayop-tpcc-server
    python -m bench.libos.delays                             as root: QEMU gets a tap device in a namespace

memcached on 16 connections, under the load of `bench.libos.apps`. First on an e1000e that delays its interrupts:
QEMU's by 128 us or more, and only those that come after one that was not delayed; Linux is told by ethtool. Then on
virtio-net, with a core of the library OS that sleeps, polls, or does the one or the other by load, up to a closed loop.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import median
from typing import Final

from bench.command import collect, count, flags_of
from bench.libos.apps import MEMCACHED
from bench.libos.count import SETTLE_S, Counter, counting
from bench.libos.linux import TUNED, Linux
from bench.libos.plan import LIBRARY_OS

from bayop.errors import BayopError
from lab.libos import LibraryOs

DELAYS_US: Final[Sequence[int]] = (128, 256, 512, 1000, 2000, 4000, 10_000)
DELAYED_QPS: Final[Sequence[float]] = (2000.0, 8000.0)
WAITS: Final = ("interrupt", "poll", "adaptive")
WAITED_QPS: Final[Sequence[float]] = (1000.0, 4000.0, 16_000.0, 0.0)
"""Zero: a closed loop, one request on each connection."""

_CONNECTIONS: Final = 16
_WINDOW_S: Final = 3.0
_SPARE_S: Final = 3.0


_MODULE: Final = "bench.libos.delays"


@dataclass(frozen=True, slots=True)
class Row:
    """One machine.

    Attributes:
        system: `LIBRARY_OS`, or `TUNED`.
        nic: Its NIC.
        wait: What its core does when there is nothing to do.
        delay_us: The least time between interrupts; 0 where the NIC can't be told.
        qps: The load that was offered; 0 for a closed loop.
        served_qps: What was answered.
        instructions_per_request: All that the processor executed.
        interrupts_per_request: How often it returned from one.
        p50_us: Of the latency that clients saw.
        p99_us: Likewise.
    """

    system: str
    nic: str
    wait: str
    delay_us: int
    qps: float
    served_qps: float
    instructions_per_request: float
    interrupts_per_request: float
    p50_us: float
    p99_us: float


def main(argv: Sequence[str] | None = None) -> int:
    """Counts all of it and writes the results."""
    flags = flags_of(_MODULE, __doc__)
    flags.add_argument("--repeats", type=count, default=3, metavar="N", help="machines for each row (default: 3)")
    flags.add_argument("--few", action="store_true", help="two delays and two loads only")

    def measured(args: argparse.Namespace) -> Iterator[Row]:
        return measure(repeats=args.repeats, few=args.few)

    return collect(_MODULE, flags, argv, measured, say=said, table=table)


def said(row: Row) -> str:
    """A row for people."""
    asked = f"{row.system} {row.nic} {row.wait} {row.delay_us} us, {row.qps:g}/s"
    return f"{asked}: {row.instructions_per_request:,.0f}"


def measure(*, repeats: int, few: bool) -> Iterator[Row]:
    """Every machine; repetitions take turns.

    Raises:
        BayopError: A machine or its load ends early.
        UnsupportedError: This machine can't count, or the image is not built.
    """
    delays_us, delayed_qps, waited_qps = DELAYS_US, DELAYED_QPS, WAITED_QPS
    if few:
        delays_us, delayed_qps, waited_qps = DELAYS_US[::6], DELAYED_QPS[:1], WAITED_QPS[:1]
    with counting() as counter:
        linux = Linux(counter.folder)
        for _ in range(repeats):
            for qps, delay_us in product(delayed_qps, delays_us):
                yield one(counter, f"delay={delay_us}", nic="e1000e", delay_us=delay_us, qps=qps)
                kernel = linux.boot(TUNED, MEMCACHED, delay_us)
                yield one(counter, kernel=kernel, nic="e1000e", delay_us=delay_us, qps=qps)
            for qps, wait in product(waited_qps, WAITS):
                yield one(counter, f"wait={wait}", nic="virtio-net", wait=wait, qps=qps)


def one(
    counter: Counter,
    words: str = "",
    *,
    kernel: Sequence[str] = (),
    nic: str,
    wait: str = "interrupt",
    delay_us: int = 0,
    qps: float,
) -> Row:
    """One machine, of the library OS with these words or of another kernel."""
    namespace = counter.namespace
    with LibraryOs(
        words, nic=nic, inside=namespace.command([]), arguments=counter.arguments(), kernel=kernel
    ) as machine:
        address = machine.address(MEMCACHED.port)
        load = f"-q {qps:g}" if qps else "--closed-loop"
        asked = f"load -s {address} {MEMCACHED.load} {load} -c {_CONNECTIONS} -w {SETTLE_S:g}s --json"
        command = [sys.executable, "-m", "bayop", *asked.split(), "-t", f"{_WINDOW_S + _SPARE_S:g}s"]
        with subprocess.Popen(namespace.command(command), stdout=subprocess.PIPE) as process:
            requests, counted = counter.window(
                MEMCACHED, address, process, connections=_CONNECTIONS, settle_s=SETTLE_S + 1.0, window_s=_WINDOW_S
            )
            said = [json.loads(line) for line in process.communicate()[0].splitlines()]
        namespace.run("ip", "link", "delete", "libos0")
    result = said[-1]
    latency = {row["quantile"]: row["value_us"] for row in result.get("latency", ())}
    if requests == 0 or not {0.5, 0.99} <= latency.keys():
        raise BayopError(wrong=f"the load generator ended early: {result}", hint="on a quieter machine, again")
    return Row(
        system=TUNED if kernel else LIBRARY_OS,
        nic=nic,
        wait=wait,
        delay_us=delay_us,
        qps=qps,
        served_qps=result["achieved_qps"],
        instructions_per_request=counted.instructions / requests,
        interrupts_per_request=counted.returns / requests,
        p50_us=latency[0.5],
        p99_us=latency[0.99],
    )


def table(rows: Sequence[Row]) -> str:
    """Medians in Markdown."""
    lines = [
        "| system | NIC | wait | delay | requests/s | instructions a request | interrupts a request | p50 | p99 |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    by_key: dict[tuple[str, str, str, int, float], list[Row]] = {}
    for row in rows:
        by_key.setdefault((row.system, row.nic, row.wait, row.delay_us, row.qps), []).append(row)
    for (system, nic, wait, delay_us, qps), own in by_key.items():
        load = f"{qps:,.0f}" if qps else f"closed loop, {median(row.served_qps for row in own):,.0f}"
        cells = [system, nic, wait, f"{delay_us:,} us" if delay_us else "", load]
        cells.append(f"{median(row.instructions_per_request for row in own):,.0f}")
        cells.append(f"{median(row.interrupts_per_request for row in own):.2f}")
        cells += [f"{median(getattr(row, name) for row in own):,.0f} us" for name in ("p50_us", "p99_us")]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
