"""Does a log of interrupts show the rates that the kernel's own counters have?

memcached behind a pair of virtual devices, under an open loop, while `bayop interrupts record` records the polls of its
device. The kernel's counters (the tracepoint napi:napi_poll as perf counts it, the device's statistics) are read while
nothing is sent, at two moments of the load, and when it is over. What `bayop interrupts show` says of the log between
the two moments is held against them: rates, over the same time. What was recorded in all is held against all of the
load. Needs root and memcached.

Example:
  make probe && python -m bench.interrupts_record.rates
  python -m bench.interrupts_record.rates --qps 2000 --out build/rates
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Self

from bench.command import Results, flags_of, run_benchmark
from rich.console import Console

from bayop.applications.definition import find_application
from bayop.experiments.rig.polls import polls_of
from bayop.experiments.rig.veth import VethPair
from bayop.interrupts.capture import recorded, recorder_place
from bayop.interrupts.log import open_log
from bayop.interrupts.parquet import read, read_layout, write
from bayop.interrupts.query import summarise
from bayop.interrupts.record import Capture, record
from bayop.interrupts.window import TickWindow

MOST_APART: Final = 1e-3
"""How far a rate that is shown may be from the one that is counted, as a share of it."""

_MODULE: Final = "bench.interrupts_record.rates"
_LEAD_S: Final = 2.0
"""From one event to the next: programs are attached, the load begins, it has settled, it ends, packets have come."""
_READINGS: Final = 10
"""Of all counters; the quickest counts, between which little came."""
_LINK_HEADER_BYTES: Final = 14
"""Of each packet, which the statistics of a virtual device leave out (the kernel's veth_xdp_rcv())."""
_MOST_BYTES: Final = 10**10
_COLUMN_OF: Final[Mapping[str, str]] = {
    "rx packets": "rx_descriptors", "rx bytes": "rx_bytes", "tx packets": "tx_descriptors", "tx bytes": "tx_bytes",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rate:
    """What is shown of a quantity, and what the kernel has counted.

    Attributes:
        quantity: Which.
        shown_per_s: By `bayop interrupts show`, of the log between two moments of the load.
        counted_per_s: By the kernel's counters, between these moments.
        apart: How far the first is from the second, as a share of that.
        recorded: What the whole log has, and the recorder has told besides; None of bytes where that tells packets,
            whose bytes nobody has counted.
        counted_least: What the kernel has counted while the programs were attached for sure,
        counted_most: and while they may have been.
    """

    quantity: str
    shown_per_s: float
    counted_per_s: float
    apart: float
    recorded: int | None
    counted_least: int
    counted_most: int


@dataclass(frozen=True, slots=True)
class Counters:
    """What the kernel had counted at a time of CLOCK_MONOTONIC."""

    time_ns: int
    counts: dict[str, int]

    @classmethod
    def read(cls, pair: VethPair, polls: Callable[[], int]) -> Self:
        """All counters at one time, or as good as that."""
        readings = []
        for _ in range(_READINGS):
            began_ns = time.monotonic_ns()
            text = Path(f"/proc/{pair.server.holder_pid}/net/dev").read_text(encoding="ascii")
            polled = polls()
            readings.append((time.monotonic_ns() - began_ns, began_ns, text, polled))
        took_ns, began_ns, text, polled = min(readings)
        line = next(line for line in text.splitlines() if line.strip().startswith(f"{pair.device}:"))
        numbers = [int(word) for word in line.partition(":")[2].split()]
        counts = {"polls": polled}
        for way, (nbytes, packets) in {"rx": numbers[0:2], "tx": numbers[8:10]}.items():
            counts |= {f"{way} packets": packets, f"{way} bytes": nbytes + _LINK_HEADER_BYTES * packets}
        return cls(began_ns + took_ns // 2, counts)


def rates(recorder: Path, *, qps: float, between_s: float) -> list[Rate]:
    """What is shown and what is counted, by quantity.

    Args:
        recorder: The program `bayop-interrupts-record`.
        qps: The load.
        between_s: The time between the two moments.
    """
    memcached = find_application("memcached")
    load_s = between_s + 3 * _LEAD_S
    with VethPair() as pair, tempfile.TemporaryDirectory() as folder, polls_of(pair.device) as polls:
        pair.serve(memcached)
        read_counters = partial(Counters.read, pair, polls)
        with ThreadPoolExecutor() as pool:
            outside = read_counters()
            words = [str(recorder)]
            printed = recorded(words, device=pair.device, netns=pair.server.path, duration_s=load_s + 4 * _LEAD_S)
            place = recorder_place(words)
            recording = pool.submit(record, printed, Path(folder), place=place, most_bytes=_MOST_BYTES)
            time.sleep(_LEAD_S)
            before = read_counters()
            flags = ("--qps", f"{qps:g}", "-t", f"{load_s:g}s", "-w", "0s")
            load = pool.submit(pair.load, memcached, *flags)
            time.sleep(2 * _LEAD_S)
            first = read_counters()
            time.sleep(between_s)
            second = read_counters()
            load.result()
            time.sleep(_LEAD_S / 2)
            after = read_counters()
            capture = recording.result()
            surely = read_counters()
        (log,) = capture.paths
        shown = _shown(log, TickWindow(first.time_ns, second.time_ns))
        in_all = _in_all(capture)
    return [
        Rate(
            quantity,
            shown[quantity],
            counted := (second.counts[quantity] - count) / (second.time_ns - first.time_ns) * 1e9,
            shown[quantity] / counted - 1.0,
            in_all[quantity],
            after.counts[quantity] - before.counts[quantity],
            surely.counts[quantity] - outside.counts[quantity],
        )
        for quantity, count in first.counts.items()
    ]


def _shown(log: Path, window: TickWindow) -> Mapping[str, float]:
    """What `bayop interrupts show` says of a part of a log, each second."""
    layout, part = read_layout(log), log.with_name("part.parquet")
    clipped = (window.clip(batch) for batch in read(log, layout, 0, None))
    write((batch for batch in clipped if batch is not None), layout, part)
    words = [sys.executable, "-m", "bayop", "interrupts", "show", "--json", str(part)]
    shown = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)
    polls_per_s = shown["counters"]["interrupts_per_s"]
    means = {column: shown["per_interrupt"][column]["mean"] for column in _COLUMN_OF.values()}
    return {"polls": polls_per_s} | {quantity: means[column] * polls_per_s for quantity, column in _COLUMN_OF.items()}


def _in_all(capture: Capture) -> Mapping[str, int | None]:
    """What a whole recording has, and what the recorder has counted besides."""
    (summary,) = (summarise(open_log(path)) for path in capture.paths)
    found: dict[str, int | None] = {"polls": summary.records}
    for way in ("rx", "tx"):
        rest = int(capture.counted[f"rest_{way}_packets"])
        found[f"{way} packets"] = summary.traffic[f"{way}_descriptors"].sum + rest
        found[f"{way} bytes"] = None if rest else summary.traffic[f"{way}_bytes"].sum
    return found


def _measure(args: argparse.Namespace, console: Console) -> Results:
    console.print(f"[dim]{args.qps:g} requests/s, of {args.between:g} s the rates[/dim]")
    rows = rates(args.recorder, qps=args.qps, between_s=args.between)
    table = ["| | shown /s | counted /s | apart | recorded in all | counted |", "|---|---|---|---|---|---|"]
    for row in rows:
        recorded = "" if row.recorded is None else row.recorded
        cells = f"{row.shown_per_s:.2f} | {row.counted_per_s:.2f} | {row.apart:+.4%} | {recorded}"
        table.append(f"| {row.quantity} | {cells} | {row.counted_least} to {row.counted_most} |")
    return Results({"rates": rows}, "\n".join([*table, ""]))


def main(argv: list[str] | None = None) -> int:
    """Runs the benchmark."""
    summary, _, examples = (__doc__ or "").partition("Example:\n")
    flags = flags_of(_MODULE, summary, examples=f"Example:\n{examples}")
    flags.add_argument("--recorder", type=Path, default=Path("target/release/bayop-interrupts-record"))
    flags.add_argument("--qps", type=float, default=5000.0, help="the load, in requests/s (5000)")
    flags.add_argument(
        "--between", type=float, default=10.0, metavar="S", help="from one moment to the other, in s (10)"
    )
    return run_benchmark(_MODULE, flags, argv, _measure)


if __name__ == "__main__":
    sys.exit(main())
