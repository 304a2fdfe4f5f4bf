"""NetPIPE's ping-pong on the library OS and on Linux, in one emulated machine: instructions of a round trip, by size.

    make libos
    python -m bench.libos.netpipe.run                        as root: QEMU gets a tap device in a namespace
    python -m bench.libos.netpipe.run --repeats 1 --few --out build/netpipe

One connection on which a message goes there and comes back before the next one leaves, as in [D] and [C]. Linux answers
by a program that reads and writes and does nothing else (echo.c). Everything is counted from before the connection is
opened until after it was closed.
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
from bench.libos.apps import ECHO
from bench.libos.count import Counter, counting
from bench.libos.linux import LINUX, Linux
from bench.libos.plan import LIBRARY_OS

from bayop.errors import BayopError
from lab.libos import LibraryOs

SIZES: Final = (1, 64, 1_024, 8_192, 65_536, 524_288)
"""Bytes of a message; [D] and [C] have 64, 8 KiB, 64 KiB and 512 KiB among theirs."""
FEW_SIZES: Final = SIZES[1:4:2]
SYSTEMS: Final = (LIBRARY_OS, *LINUX)
_DURATION_S: Final = 3.0


_MODULE: Final = "bench.libos.netpipe.run"


@dataclass(frozen=True, slots=True)
class Row:
    """What was counted on one machine.

    Attributes:
        system: The library OS or one of Linux.
        message_bytes: How long a message was.
        round_trips: How many there were.
        instructions_per_round_trip: What the processor executed for each.
        interrupts_per_round_trip: How often it returned from an interrupt or exception for each.
        p50_us: How long half of them took at most.
    """

    system: str
    message_bytes: int
    round_trips: int
    instructions_per_round_trip: float
    interrupts_per_round_trip: float
    p50_us: float


def main(argv: Sequence[str] | None = None) -> int:
    """Counts all of it and writes the results."""
    flags = flags_of(_MODULE, __doc__)
    flags.add_argument("--repeats", type=count, default=5, metavar="N", help="machines for each row (default: 5)")
    flags.add_argument("--few", action="store_true", help="two sizes only")

    def measured(args: argparse.Namespace) -> Iterator[Row]:
        return measure(FEW_SIZES if args.few else SIZES, args.repeats)

    return collect(_MODULE, flags, argv, measured, say=said, table=table)


def said(row: Row) -> str:
    """A row for people."""
    return f"{row.system} {row.message_bytes:,} bytes: {row.instructions_per_round_trip:,.0f}"


def measure(sizes: Sequence[int], repeats: int) -> Iterator[Row]:
    """Every machine; the systems take turns.

    Raises:
        BayopError: A machine or its load ends early.
        UnsupportedError: This machine can't count, or the image is not built.
    """
    with counting() as counter:
        linux = Linux(counter.folder)
        for size, _, system in product(sizes, range(repeats), SYSTEMS):
            kernel = () if system == LIBRARY_OS else linux.boot(system, ECHO)
            yield one(counter, system, size, kernel)


def one(counter: Counter, system: str, size: int, kernel: Sequence[str]) -> Row:
    """One machine."""
    namespace = counter.namespace
    with LibraryOs("app=echo", inside=namespace.command([]), arguments=counter.arguments(), kernel=kernel) as machine:
        words = f"load -s {machine.address(ECHO.port)} {ECHO.load} --closed-loop -c 1 --message-size {size}".split()
        command = [sys.executable, "-m", "bayop", *words, "-t", f"{_DURATION_S:g}s", "-w", "0s", "--json"]
        before = counter.counted()
        run = subprocess.run(namespace.command(command), capture_output=True, text=True, check=False)
        counted = counter.counted() - before
        namespace.run("ip", "link", "delete", "libos0")
    if run.returncode != 0:
        raise BayopError(wrong=f"the load ended early: {run.stderr.strip()}")
    result = json.loads(run.stdout.splitlines()[-1])
    round_trips = int(result["counts"]["answered"])
    return Row(
        system=system,
        message_bytes=size,
        round_trips=round_trips,
        instructions_per_round_trip=counted.instructions / round_trips,
        interrupts_per_round_trip=counted.returns / round_trips,
        p50_us=next(float(row["value_us"]) for row in result["latency"] if row["quantile"] == 0.5),
    )


def table(rows: Sequence[Row]) -> str:
    """Medians in Markdown, and how many times the library OS's Linux takes."""
    lines = [
        "| message | system | instructions a round trip | times | interrupts a round trip | p50 |",
        "|---:|---|---:|---:|---:|---:|",
    ]
    by_key: dict[tuple[int, str], list[Row]] = {}
    for row in rows:
        by_key.setdefault((row.message_bytes, row.system), []).append(row)
    for (size, system), own in by_key.items():
        instructions = median(row.instructions_per_round_trip for row in own)
        ours = median(row.instructions_per_round_trip for row in by_key[size, LIBRARY_OS])
        cells = [f"{size:,} B", system, f"{instructions:,.0f}", f"{instructions / ours:.1f}"]
        cells.append(f"{median(row.interrupts_per_round_trip for row in own):.2f}")
        cells.append(f"{median(row.p50_us for row in own):,.0f} us")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
