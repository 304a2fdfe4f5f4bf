"""NetPIPE's round trip over the size of the message and the interrupt delay, on the rig and on the lab's e1000e.

One connection on which a message goes there and comes back before the next one leaves, as in [D], Fig. 1. On the rig
the delay is gro_flush_timeout of the server's device (with napi_defer_hard_irqs 1), which has polls and no interrupts;
service and client have a processor each. In the lab it is rx_usecs of the e1000e of an emulated server, by Debian's
driver and QEMU's model, which takes less than 128 us as 128; clients come through QEMU's network.

All delays take their turn, then all of them again. Whatever is changed is gone with the rig and with the server. Each
row is written as soon as it is over, so that a run that is broken off keeps those.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from bench.command import chosen, collect, count, flags_of
from tests.end_to_end.lab.lab_agent import until_link

from bayop.applications.definition import find_application
from bayop.errors import BayopError
from bayop.experiments.rig.polls import polls_of
from bayop.experiments.rig.veth import SERVER_ADDRESS, Schedule, VethPair
from lab import Files, Machine
from lab.packages import LAB

_MODULE: Final = "bench.netpipe.run"
SIZES: Final = (64, 8_192, 65_536, 524_288)
"""Bytes of a message, as in [D]."""
_FEWEST: Final = 100
_ECHO: Final = find_application("echo")
_GUEST_ECHO: Final = "/usr/bin/echo-server"
EXAMPLES: Final = """\
example, as root:
  lab/install-packages && apt-get install socat && python -m bench.netpipe.run
"""


@dataclass(frozen=True, slots=True)
class Row:
    """What one connection did for a while.

    Attributes:
        place: One of `PLACES`.
        message_bytes: How long a message was.
        delay_us: What was set.
        round_trips: How many there were.
        per_s: How many in a second.
        p50_us: How long half of them took at most.
        p99_us: How long 99 % of them took at most; None of fewer than a hundred.
        interrupts_per_round_trip: Those of the server's device; on the rig its polls.
    """

    place: str
    message_bytes: int
    delay_us: int
    round_trips: int
    per_s: float
    p50_us: float
    p99_us: float | None
    interrupts_per_round_trip: float


@dataclass(frozen=True, slots=True)
class Server:
    """An echo to measure.

    Attributes:
        address: Where it answers.
        inside: What starts a client of it.
        delay: Sets the delay, in us.
        interrupts: How many there were until now.
    """

    address: str
    inside: Sequence[str]
    delay: Callable[[int], None]
    interrupts: Callable[[], int]


@dataclass(frozen=True, slots=True)
class Place:
    """Where it is measured.

    Attributes:
        delays_us: Over these.
        server: As long as it is there.
    """

    delays_us: Sequence[int]
    server: Callable[[], AbstractContextManager[Server]]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark and writes its results."""
    flags = flags_of(_MODULE, __doc__, examples=EXAMPLES)
    flags.add_argument("--places", default=",".join(PLACES), metavar="NAMES", help="default: %(default)s")
    flags.add_argument("--repeats", type=count, default=3, metavar="N", help="turns of each delay (default: 3)")
    flags.add_argument("--seconds", type=float, default=1.0, metavar="S", help="of each row (default: 1)")
    flags.add_argument("--few", action="store_true", help="two sizes and two delays only")

    def measured(args: argparse.Namespace) -> Iterator[Row]:
        for name in chosen(args.places, PLACES, what="place", flag="--places"):
            delays_us = PLACES[name].delays_us
            sizes, delays_us = (SIZES[::2], delays_us[::5][:2]) if args.few else (SIZES, delays_us)
            with PLACES[name].server() as server:
                for _, delay_us in product(range(args.repeats), delays_us):
                    server.delay(delay_us)
                    for size in sizes:
                        yield exchange(name, server, size, delay_us, args.seconds)

    return collect(_MODULE, flags, argv, measured, say=said, table=table, as_it_goes=True)


def exchange(place: str, server: Server, size: int, delay_us: int, duration_s: float) -> Row:
    """Sends a message back and forth for a while.

    Raises:
        BayopError: nothing comes back.
    """
    asked = (
        f"load -s {server.address} --closed-loop -c 1 --message-size {size} -w 0s -t {duration_s:g}s --blocking --json"
    )
    words = [*server.inside, sys.executable, "-m", "bayop", *asked.split(), *_ECHO.load_flags]
    before = server.interrupts()
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    interrupts = server.interrupts() - before
    result = json.loads(run.stdout.splitlines()[-1]) if run.returncode == 0 else {}
    latency_us = {row["quantile"]: row["value_us"] for row in result.get("latency", ())}
    if latency_us.get(0.5) is None:
        raise BayopError(wrong=f"{size} bytes do not come back at {delay_us} us: {run.stderr.strip()}")
    round_trips = result["counts"]["answered"]
    return Row(
        place=place,
        message_bytes=size,
        delay_us=delay_us,
        round_trips=round_trips,
        per_s=result["achieved_qps"],
        p50_us=latency_us[0.5],
        p99_us=latency_us[0.99] if round_trips >= _FEWEST else None,
        interrupts_per_round_trip=interrupts / round_trips,
    )


@contextmanager
def _rig() -> Iterator[Server]:
    cpus = sorted(os.sched_getaffinity(0))
    schedule = Schedule(service_cpus=cpus[:1], client_cpus=cpus[-1:])
    with VethPair(schedule) as pair, polls_of(pair.device) as polls:
        pair.serve(_ECHO)
        inside = pair.client.command(schedule.clients())
        yield Server(f"{SERVER_ADDRESS}:{_ECHO.port}", inside, lambda us: pair.defer(gro_flush_timeout_us=us), polls)


@contextmanager
def _lab() -> Iterator[Server]:
    source = Path(__file__).parents[1] / "libos" / "echo.c"
    # QEMU leads to memcached's port, where the echo is in its place.
    inittab = (LAB / "guest" / "inittab").read_text(encoding="ascii")
    inittab = re.sub("/usr/bin/memcached.*", f"{_GUEST_ECHO} 11211", inittab)
    with TemporaryDirectory(prefix="bayop-netpipe-") as folder:
        echo = Path(folder) / "echo"
        subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-o", echo, source], check=True)
        with Machine(files=Files().add("/etc/inittab", inittab).add_program(_GUEST_ECHO, echo)) as machine:

            def delay(us: int) -> None:
                machine.run(f"ethtool --coalesce eth0 rx-usecs {us}")
                until_link(machine)

            yield Server(
                f"127.0.0.1:{machine.ports.memcached}",
                (),
                delay,
                lambda: interrupts_of(machine.read("/proc/interrupts")),
            )


PLACES: Final[Mapping[str, Place]] = {
    "rig": Place((0, 10, 20, 30, 40, 60, 80, 100, 125, 150, 200, 250, 300, 400), _rig),
    "lab": Place((0, 100, 200, 300, 400, 600, 800, 1200, 1600), _lab),
}
"""By name."""


def interrupts_of(interrupts: str) -> int:
    """Those of eth0 on all CPUs since the machine has started, from what /proc/interrupts says."""
    rows = [line.split() for line in interrupts.splitlines() if re.search(r" eth0(-|$)", line)]
    return sum(int(cell) for row in rows for cell in row[1 : row.index("PCI-MSI")])


def said(row: Row) -> str:
    """A row for people."""
    return f"{row.place}, {row.message_bytes:,} bytes, {row.delay_us} us: {row.p50_us:,.0f} us"


def table(rows: Sequence[Row]) -> str:
    """Medians in Markdown; the shortest p50 of each size at each place is bold."""
    sizes = sorted({row.message_bytes for row in rows})
    lines = [f"| where | delay | {' | '.join(f'{size:,} B' for size in sizes)} |", "|---|---:|" + "---:|" * len(sizes)]
    middle = medians(rows)
    for place, delay_us in dict.fromkeys((row.place, row.delay_us) for row in rows):
        cells = []
        for size in sizes:
            if (found := middle.get((place, size, delay_us))) is None:
                cells.append("-")
                continue
            p50_us, p99_us, interrupts = found
            best = min(p50 for (where, what, _), (p50, _, _) in middle.items() if (where, what) == (place, size))
            mark = "**" if p50_us == best else ""
            p99 = "-" if p99_us is None else f"{p99_us:,.0f}"
            cells.append(f"{mark}{p50_us:,.0f}{mark} / {p99} us, {interrupts:.1f}")
        lines.append(f"| {place} | {delay_us:,} us | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def medians(rows: Sequence[Row]) -> Mapping[tuple[str, int, int], tuple[float, float | None, float]]:
    """p50, p99 and interrupts of a round trip by place, size and delay."""
    groups: dict[tuple[str, int, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.place, row.message_bytes, row.delay_us), []).append(row)
    found = {}
    for key, own in groups.items():
        p99s_us = [row.p99_us for row in own if row.p99_us is not None]
        interrupts = median(row.interrupts_per_round_trip for row in own)
        found[key] = median(row.p50_us for row in own), median(p99s_us) if p99s_us else None, interrupts
    return found


if __name__ == "__main__":
    sys.exit(main())
