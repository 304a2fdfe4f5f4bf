"""Whether the p99 that `bayop load` reports over HTTP, TLS and PostgreSQL's protocol is true: beside eBPF's.

An open loop at a share of what a closed loop shows of the peak; the generator on one core, the server on another. What
really happened is seen below the client's sockets (bench/load/truth.py), as `bench.load.run` does with memcached: the
p99 from the due time to the first byte of the answer. nginx answers `hello`, in TLS 1.3 too; PostgreSQL `SELECT 1`.

Debian's packages nginx-light and postgresql, openssl, clang, libbpf and root are needed.

Example:
  python -m bench.load.protocols
  python -m bench.load.protocols --rounds 1 --duration 3 --protocols http,https --out build/protocols
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np
from bench.command import Results, chosen, count, flags_of, run_benchmark
from bench.load.beside import CLIENT_CPU, SERVER_CPU
from bench.load.experiments import QUANTILE, intended_times
from bench.load.processes import RunError, first_on, run
from bench.load.truth import TruthError, Watch
from bench.load.web import servers
from rich.console import Console
from tests.support.servers import free_port, serving

from bayop.errors import BayopError

_MODULE: Final = "bench.load.protocols"
_PATIENCE_S: Final = 30.0
CONNECTIONS: Final = 16
_SEALING_BYTES: Final = 22
"""What TLS 1.3 adds to a record: a header of 5 bytes, the content's type, and a tag of 16 (RFC 8446, section 5.2)."""

_FLAGS: Final[Mapping[str, Sequence[str]]] = {
    "http": ("--protocol", "http"),
    "https": ("--protocol", "http", "--tls", "--insecure"),
    "postgresql": ("--protocol", "postgresql", "--query", "SELECT 1", "--user", "bayop"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A reported p99 beside the truth.

    Attributes:
        protocol: `http`, `https` (HTTP/1.1 in TLS 1.3) or `postgresql`.
        round: Which.
        offered_qps: What it was told.
        achieved_qps: What was answered, seen by eBPF.
        reported_us: Its p99.
        due_us: That from the due time to the first byte of the answer, seen by eBPF.
        wire_us: That from leaving to the first byte, likewise.
    """

    protocol: str
    round: int
    offered_qps: float
    achieved_qps: float
    reported_us: float
    due_us: float
    wire_us: float

    @property
    def off(self) -> float:
        """Relative error of the reported p99."""
        return self.reported_us / self.due_us - 1.0


def main(argv: Sequence[str] | None = None) -> int:
    """Runs every round and writes the results."""
    flags = flags_of(_MODULE, __doc__)
    flags.add_argument("--rounds", type=count, default=5, metavar="N", help="runs of each (default: 5)")
    flags.add_argument("--duration", type=float, default=4.0, metavar="SECONDS", help="of a run (default: 4)")
    flags.add_argument("--share", type=float, default=0.5, help="of the peak (default: 0.5)")
    flags.add_argument("--protocols", default=",".join(_FLAGS), metavar="NAME,...", help="which (default: all)")
    flags.add_argument("--build", type=Path, default=Path("build/bench"), help="folder for the compiled eBPF program")
    return run_benchmark(_MODULE, flags, argv, _measured)


def _measured(args: argparse.Namespace, console: Console) -> Results:
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as stack:
        folder = Path(temporary)
        for protocol in chosen(args.protocols, _FLAGS, what="protocol", flag="--protocols"):
            port = stack.enter_context(_server(protocol, folder / protocol))
            peak_qps = _loaded(protocol, port, args.duration, ["--closed-loop"])["achieved_qps"]
            for round_ in range(1, args.rounds + 1):
                try:
                    rows.append(_row(protocol, round_, port, args.share * peak_qps, args))
                except (TruthError, RunError) as error:
                    raise BayopError(wrong=f"{protocol}: {error}") from error
                console.print(f"{protocol}, round {round_}: p99 {rows[-1].off:+.1%}")
    return Results({"protocols": rows}, table(rows))


def _row(protocol: str, round_: int, port: int, qps: float, args: argparse.Namespace) -> Row:
    with tempfile.TemporaryDirectory() as folder, Watch(port, args.build) as watch:
        samples = Path(folder) / "samples.csv"
        event = _loaded(protocol, port, args.duration, ["-q", f"{qps:.0f}", "--save", str(samples)])
        true = watch.requests_of_segments(sealing_bytes=_SEALING_BYTES if protocol == "https" else 0)
        due_ns = intended_times(samples, true)
    due_us = float(np.quantile(true.received_ns - due_ns, QUANTILE)) / 1e3
    reported = {each["quantile"]: each["value_us"] for each in event["latency"]}
    return Row(protocol, round_, qps, true.qps, reported[QUANTILE], due_us, true.latency_us(QUANTILE))


def _loaded(protocol: str, port: int, duration_s: float, how: Sequence[str]) -> Any:  # noqa: ANN401 -- an event
    words = [sys.executable, "-m", "bayop", "load", "-s", f"127.0.0.1:{port}", *_FLAGS[protocol], "--json", "-w", "0s"]
    words += ["-c", str(CONNECTIONS), "-t", f"{duration_s:g}s", *how]
    # 1: it says itself that it was late.
    process = run(words, cpu=CLIENT_CPU, timeout_s=duration_s + _PATIENCE_S, good=(0, 1))
    return json.loads(process.stdout.splitlines()[-1])


@contextmanager
def _server(protocol: str, folder: Path) -> Iterator[int]:
    folder.mkdir(mode=0o755)
    if protocol != "postgresql":
        with servers(folder) as ports:
            yield ports[protocol]
        return
    port = free_port()
    server = [sys.executable, "-m", "bayop", "app", "start", "postgresql", "--port", str(port)]
    with serving(server, port, before=first_on(SERVER_CPU)):
        yield port


def table(rows: Sequence[Row]) -> str:
    """Medians of each protocol, with the least and the greatest error."""
    lines = ["| protocol | offered | answered | reported p99 | on the wire | from the due time | off |"]
    lines.append("|---|---:|---:|---:|---:|---:|---:|")
    for protocol in dict.fromkeys(row.protocol for row in rows):
        own = [row for row in rows if row.protocol == protocol]
        offered, achieved, reported, wire, due = (
            median(getattr(row, name) for row in own)
            for name in ("offered_qps", "achieved_qps", "reported_us", "wire_us", "due_us")
        )
        off = sorted(row.off for row in own)
        lines.append(
            f"| {protocol} | {offered:,.0f}/s | {achieved:,.0f}/s | {reported:,.0f} us | {wire:,.0f} us | "
            f"{due:,.0f} us | {median(off):+.1%} ({off[0]:+.1%} to {off[-1]:+.1%}) |"
        )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
