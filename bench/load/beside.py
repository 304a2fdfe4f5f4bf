"""Load generators beside each other on one server, each on a core of its own: requests/s, and its time for each."""

from __future__ import annotations

import argparse
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from bench.command import count, flags_of
from bench.load.processes import first_on

from bayop.experiments.rig.veth import process_cpu_s

CONNECTIONS: Final = 16
CLIENT_CPU, SERVER_CPU = 0, 1
LEAST_S: Final = 3.0
"""Of a run: Python has started by the third of it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One run.

    Attributes:
        protocol: `http`, `https` (HTTP/1.1 in TLS 1.3), `http2` in clear, `http2 in TLS`, or `http at its quickest`.
        depth: Requests under way on each connection: by pipelining, and in HTTP/2 by streams.
        round: Runs of one round were neighbours in time.
        generator: Which.
        qps: Requests/s, by the server's count.
        cpu_us: The generator's processor time for each.
    """

    protocol: str
    depth: int
    round: int
    generator: str
    qps: float
    cpu_us: float


def flags_of_rounds(module: str, says: str | None, *, duration_s: float) -> argparse.ArgumentParser:
    """The flags of a benchmark of these, whose runs take so long unless `--duration` says another time."""
    flags = flags_of(module, says)
    flags.add_argument("--rounds", type=count, default=5, metavar="N", help="runs of each (default: 5)")
    said = f"of a run (default: {duration_s:g})"
    flags.add_argument("--duration", type=_duration, default=duration_s, metavar="SECONDS", help=said)
    return flags


def _duration(text: str) -> float:
    duration_s = float(text)
    if not duration_s >= LEAST_S:
        raise argparse.ArgumentTypeError(f"must be at least {LEAST_S:g}, not {text}")
    return duration_s


def measure(words: Sequence[str], requests: Callable[[], int], duration_s: float) -> tuple[float, float]:
    """Runs a generator: requests/s, and its processor time for each in us, from a third to two thirds of the time."""
    quiet = subprocess.DEVNULL
    start_s = time.monotonic()
    with subprocess.Popen(
        words,
        stdout=quiet,
        stderr=quiet,
        preexec_fn=first_on(CLIENT_CPU),  # noqa: PLW1509 -- no thread of this process holds a lock that it needs
    ) as process:
        seen = []
        for share in (1 / 3, 2 / 3):
            time.sleep(max(0.0, start_s + share * duration_s - time.monotonic()))
            seen.append((time.monotonic(), requests(), process_cpu_s(process.pid, name=words[0])))
        process.wait(duration_s + 30.0)
    (then_s, before, cpu_before_s), (now_s, after, cpu_after_s) = seen
    served = after - before
    return served / (now_s - then_s), 1e6 * (cpu_after_s - cpu_before_s) / served


def table(rows: Sequence[Row]) -> str:
    """Medians of the rounds, in brackets the least and the greatest."""
    lines = [
        "| protocol | under way on each of 16 | generator | requests/s | bayop's are | its core for a request |",
        "|---|---:|---|---:|---:|---:|",
    ]
    own = {(row.protocol, row.depth, row.round): row.qps for row in rows if row.generator == "bayop"}
    for protocol, depth, generator in dict.fromkeys((row.protocol, row.depth, row.generator) for row in rows):
        runs = [row for row in rows if (row.protocol, row.depth, row.generator) == (protocol, depth, generator)]
        ratios = [own[protocol, depth, row.round] / row.qps for row in runs]
        lines.append(
            f"| {protocol} | {depth} | {generator} | {median(row.qps for row in runs):,.0f} "
            f"| {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) x "
            f"| {median(row.cpu_us for row in runs):.2f} us |"
        )
    return "\n".join([*lines, ""])
