"""What each vantage shows while interrupts are deferred: the client, the server alone, the server with the wait.

memcached behind a veth pair, loaded in an open loop by `bayop load`; the eBPF probe watches the same seconds. Needs
root, `make probe` and a quiet machine of two cores.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench import environment

from bayop.experiments.rig.veth import SERVER_ADDRESS, VethPair, process_cpu_s

PORT: Final = 11211
TIMEOUTS_US: Final = (0, 50, 100, 200, 500, 1000)
_FIRST: Final = ("chrt", "--fifo", "1")
"""Runs a program ahead of everything else, so that a busy machine does not blur its own time. The kernel stops such
programs for 50 ms of every second that they use up, and the client polls: the slowest 5 % of its requests mean
nothing."""
_WINDOWS: Final = 3
"""Windows of the probes that the client measures for: two of them lie within wholly."""


@dataclass(frozen=True, slots=True)
class Row:
    """One run at one deferral; latencies in us.

    Attributes:
        gro_flush_timeout_us: How long the server's device defers its interrupt.
        qps: Answers/s.
        client: p50 and p90 of the load generator, from the intended send times.
        server: Of the eBPF probe alone.
        departure: With the wait that receive timestamps show.
        modelled: With the wait that the timeout implies.
        cost_ns: What the probe took for each request, alone and with the wait that it measures.
        request_ns: What memcached took for each request, the probes' programs within it included.
    """

    gro_flush_timeout_us: int
    qps: float
    client: tuple[float, ...]
    server: tuple[float, ...]
    departure: tuple[float, ...]
    modelled: tuple[float, ...]
    cost_ns: tuple[float, ...]
    request_ns: float


def measure(
    pair: VethPair, memcached_pid: int, probe: Path, *, gro_flush_timeout_us: int, qps: float, window_s: float
) -> Row:
    """One run of the client, and the probes' windows that lie within it."""
    pair.defer(gro_flush_timeout_us=gro_flush_timeout_us)
    load = [
        *_FIRST, sys.executable, "-m", "bayop", "load", "-s", f"{SERVER_ADDRESS}:{PORT}", "-q", f"{qps:g}",
        "-c", "8", "--noload", "--json", "--warmup", "1s", "--time", f"{_WINDOWS * window_s:g}s",
    ]  # fmt: skip
    watch = [
        *_FIRST,
        str(probe),
        "--port",
        str(PORT),
        "--netns",
        pair.server.path,
        "--window-s",
        f"{window_s:g}",
        "--cost",
    ]
    ways: tuple[list[str], ...] = (
        [],
        ["--wait", pair.device],
        ["--gro-flush-timeout-us", str(gro_flush_timeout_us), "--defer-hard-irqs", str(int(gro_flush_timeout_us > 0))],
    )
    probes = [subprocess.Popen([*watch, *way], stdout=subprocess.PIPE, text=True) for way in ways]
    try:
        for process in probes:
            _attached(process)
        served, taken_s = pair.memcached_requests(port=PORT), process_cpu_s(memcached_pid)
        client = subprocess.run(pair.client.command(load), capture_output=True, text=True, check=False)
        if not client.stdout:
            raise RuntimeError(client.stderr)
        taken_s = process_cpu_s(memcached_pid) - taken_s
        served = pair.memcached_requests(port=PORT) - served
        result = json.loads(client.stdout.splitlines()[-1])
    finally:
        for process in probes:
            process.terminate()
        outputs = [process.communicate()[0] for process in probes]
    at = {row["quantile"]: row["value_us"] for row in result["latency"]}
    full = [_loaded(lines) for lines in outputs]
    server, departure, modelled = (
        tuple(median(w[q] for w in windows) for q in ("p50_us", "p90_us")) for windows in full
    )
    return Row(
        gro_flush_timeout_us,
        result["achieved_qps"],
        (at[0.5], at[0.9]),
        server,
        departure,
        modelled,
        tuple(median(w["cost_ns"] for w in windows) for windows in full[:2]),
        taken_s * 1e9 / served,
    )


def _attached(process: subprocess.Popen[str]) -> None:
    """Waits for its first window: the kernel takes a second or more to verify the programs."""
    if process.stdout is None or not process.stdout.readline():
        raise RuntimeError("bayop-probe ended; it says why on stderr")


def _loaded(lines: str) -> list[dict[str, Any]]:
    """The windows that lie within the client's run, as their load shows."""
    windows: list[dict[str, Any]] = [json.loads(line) for line in lines.splitlines()]
    full = 0.8 * max(w["requests"] for w in windows)
    return [w for w in windows if w["requests"] > full]


def sweep(probe: Path, *, timeouts_us: Sequence[int], qps: float, window_s: float, repeats: int) -> list[Row]:
    """The windows of every deferral, repeated."""
    with VethPair() as pair:
        memcached_pid = pair.memcached(port=PORT)
        return [
            measure(pair, memcached_pid, probe, gro_flush_timeout_us=timeout_us, qps=qps, window_s=window_s)
            for timeout_us in timeouts_us
            for _ in range(repeats)
        ]


def summary(rows: Sequence[Row]) -> str:
    """The median window of each deferral, as a table."""
    lines = [
        "| gro_flush_timeout | client p50 / p90 | server alone | server + wait, measured | server + wait, modelled |",
        "|---:|---:|---:|---:|---:|",
    ]
    for timeout_us in sorted({row.gro_flush_timeout_us for row in rows}):
        windows = [row for row in rows if row.gro_flush_timeout_us == timeout_us]
        cells = []
        for vantage in ("client", "server", "departure", "modelled"):
            p50_us, p90_us = (median(getattr(row, vantage)[i] for row in windows) for i in (0, 1))
            cells.append(f"{p50_us:.0f} / {p90_us:.0f} us")
        lines.append(f"| {timeout_us} us | {' | '.join(cells)} |")
    alone_ns, departure_ns = (median(row.cost_ns[i] for row in rows) for i in (0, 1))
    request_us = median(row.request_ns for row in rows) / 1000
    cost = (
        f"The probe took {alone_ns:.0f} ns a request, and {departure_ns:.0f} ns with the wait that it measures, "
        f"beside memcached's {request_us:.1f} us."
    )
    return "\n".join([*lines, "", cost, ""])


def main() -> None:
    """Measures, prints the table and writes it beside the raw windows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--probe", type=Path, default=Path("target/release/bayop-probe"))
    parser.add_argument("--qps", type=float, default=8000.0)
    parser.add_argument("--timeouts", type=int, nargs="+", default=TIMEOUTS_US, metavar="US")
    parser.add_argument("--window", type=float, default=5.0, metavar="SECONDS")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    args = parser.parse_args()
    rows = sweep(args.probe, timeouts_us=args.timeouts, qps=args.qps, window_s=args.window, repeats=args.repeats)
    environment.write(args.out, "bench.latency.vantages", sys.argv[1:])
    (args.out / "windows.jsonl").write_text("".join(f"{json.dumps(asdict(row))}\n" for row in rows))
    table = summary(rows)
    (args.out / "summary.md").write_text(table)
    sys.stdout.write(table)


if __name__ == "__main__":
    main()
