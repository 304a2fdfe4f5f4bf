"""Interrupt logs that were made by hand or drawn, runs of them, and everything that a summary holds, to be compared."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from bayop.interrupts.summary import Summary

LINES: Final = (
    "0 0 0 2 66 0 0 0 0 0 0 0 0 0 4294967000 10000000000",
    "1 1 60 0 0 1000000 2000000 3000000 50 7 0 1 0 2 4294967200 10002900000",
    "2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 10002929000",
    "3 6 8588 3 72 0 0 0 0 0 0 0 0 0 0 10002958000",
    "4 1 66 0 0 1700000 4000000 5900000 90 9 0 1 0 5 204 10005800000",
    "5 0 0 2 66 0 0 0 0 0 0 0 0 0 0 10005829000",
)
"""Six records of one core of Linux 5.5: i, rx_desc, rx_bytes, tx_desc, tx_bytes, instructions, cycles, ref_cycles,
llc_miss, c1, c1e, c3, c6, c7, joules, timestamp. The energy counter wraps between the two samples, after 100 units;
the clock ticks 2899.999 times a microsecond."""

PUBLISHED_HEADER: Final = (
    "entry,time_us,since_prev_us,rx_descriptors,rx_bytes,tx_descriptors,tx_bytes,instructions_cum,cycles_cum,"
    "ref_cycles_cum,llc_misses_cum,energy_pkg1_j_cum"
)
PUBLISHED_ROWS: Final = (
    "5,5.349,,7,8594,4,108,0,0,0,0,0.0",
    "6,121.225,115.877,0,0,5,8246,,,,,",
    "7,1130.6,1009.375,0,0,0,0,500000,900000,1000000,7,2e-05",
)
"""Three records as the published files have them; the first and the last are sampled."""
MUTILATE: Final = """\
#type       avg     std     min     5th    10th    50th    90th    95th    99th
read      121.3    40.2    50.1    70.2    78.8   117.3   170.4   189.9   232.0
update    120.9    40.0    52.3    70.4    79.1   116.9   169.5   188.2   229.7
op_q        1.0     0.0     1.0     1.0     1.0     1.0     1.0     1.1     1.1

Total QPS = 200003.4 (4000068 / 20.0s)
"""
"""What mutilate prints at the end of a run."""
WRK: Final = """\
b'Running 1s test @ http://10.0.0.1:80/
1 threads and 1 connections
Thread Stats   Avg      Stdev     Max   +/- Stdev
Latency    61.50us   20.25us   3.50ms   99.00%
Req/Sec    16.00k   100.00    17.00k    90.00%
Latency Distribution
50%   60.00us
75%   65.50us
90%   80.00us
99%    1.25ms
16 requests in 1.00ms, 2.00KB read
Requests/sec:  16000.50
Transfer/sec:      2.00MB'
"""
"""What wrk prints of a run, as the authors' script writes it."""
CONNECTIONS: Final = "0 31 10001000000 10005700000\n1 32 10002900000 10005800000\n"
"""What a server of two connections prints: they ran together in the window of `LINES` from the record 1 to 4."""


def write_lines(path: Path, lines: Iterable[str]) -> Path:
    """Writes lines as a log and returns its path."""
    path.write_text(_text(lines), encoding="utf-8")
    return path


def changed(lines: tuple[str, ...], row: int, cell: int, value: str, separator: str) -> list[str]:
    """The lines with one cell replaced."""
    cells = lines[row].split(separator)
    cells[cell] = value
    return [*lines[:row], separator.join(cells), *lines[row + 1 :]]


def ebbrt_lines() -> list[str]:
    """`LINES` as EbbRT's parser prints them: without c1 and c1e, below a line of its own."""
    cells = [line.split(" ") for line in LINES]
    return ["numbytes=528 num_entries=6", *(" ".join(line[:9] + line[11:]) for line in cells)]


def linux_run(label: str = "0_50_0x1d00_135_200000", *, name: str = "linux.mcd") -> dict[str, str]:
    """The files of a run of an open loop on Linux: each of 16 cores logs `LINES`, but odd ones 400 units of energy."""
    repeat, _, setting = label.partition("_")
    logs = (LINES, changed(LINES, 4, 14, "304", " "))
    files = {f"{name}.dmesg.{repeat}_{core}_{setting}": _text(logs[core % 2]) for core in range(16)}
    return files | {f"{name}.out.{label}": MUTILATE, f"{name}.rdtsc.{label}": CONNECTIONS}


def ebbrt_run(label: str = "0_50_0x1d00_135_200000_c7", *, cores: int = 16) -> dict[str, str]:
    """The files of a run of an open loop on EbbRT: every core logs `ebbrt_lines`."""
    repeat, _, setting = label.partition("_")
    files = {f"ebbrt_dmesg.{repeat}_{core}_{setting}.csv": _text(ebbrt_lines()) for core in range(cores)}
    return files | {f"ebbrt_out.{label}": MUTILATE, f"ebbrt_rdtsc.{label}": "10002900000 10005800000\n"}


def nodejs_run(label: str = "8_0x1900_55") -> dict[str, str]:
    """The files of a run of Node.js on Linux: its core logs `LINES`, between the ends of its longer connection."""
    clock = "11 10001000000 10001010000\n12 10002900000 10005800000\n-1 10005700000 0\n"
    files = {"log": _text(LINES), "out": WRK, "rdtsc": clock}
    return {f"linux.node.server.{role}.2_1_{label}": text for role, text in files.items()}


def ebbrt_nodejs_run(label: str = "8_0x1900_55_c7") -> dict[str, str]:
    """The files of a run of Node.js on EbbRT: its core logs `ebbrt_lines`."""
    files = {f"ebbrt_dmesg.2_1_{label}.csv": _text(ebbrt_lines()), f"ebbrt_out.2_1_{label}": WRK}
    return files | {f"ebbrt_rdtsc.2_{label}": "10002900000 10005800000"}


def ebbrt_memory(lines: Iterable[str]) -> bytes:
    """What lines of EbbRT's (14 fields) were printed from: the records of memcached, silo and Node.js."""
    return b"".join(struct.pack("<9q4i", *_in_memory(line)) for line in lines)


def netpipe_memory(lines: Sequence[str], *, room: int = 3, **changes: float) -> bytes:
    """The same of NetPIPE: the run before the records, and behind them room for more, where older ones stand."""
    head = {
        "sampled_at": 10**10, "records": len(lines), "bytes": 8192, "loop": 5000, "dvfs": 0x1600, "rapl": 55, "itr": 6,
        "repeat": 2, "start": 10_002_900_000, "end": 10_005_800_000, "package 0": 3.75, "package 1": 4.75,
        "goodput": 2835.38, "latency": 22.5,
    }  # fmt: skip
    records = []
    for line in lines:
        *wide, _, _, c7, rx_desc, rx_bytes, tx_desc, tx_bytes = _in_memory(line)
        records.append(struct.pack("<7q4i", *wide, c7, rx_desc, rx_bytes, tx_desc, tx_bytes))
    return struct.pack("<Q7I2Q4f", *(head | changes).values()) + b"".join(records) + b"\xa5" * 72 * room


def only_c7(lines: Iterable[str]) -> list[str]:
    """Lines of EbbRT's as NetPIPE's parser prints them: c3 and c6 are 0."""
    return [" ".join([*cells[:9], "0", "0", *cells[11:]]) for cells in (line.split(" ") for line in lines)]


def _in_memory(line: str) -> list[int]:
    """The numbers of a line in the order of EbbRT's structure."""
    _, *traffic, instructions, cycles, ref_cycles, llc_misses, c3, c6, c7, joules, tsc = map(int, line.split(" "))
    return [tsc, instructions, cycles, ref_cycles, llc_misses, joules, c3, c6, c7, *traffic]


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Writes the files of runs into a folder, which it makes, and returns it."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def _text(lines: Iterable[str]) -> str:
    return "".join(line + "\n" for line in lines)


def drawn_lines(records: int, seed: int) -> list[str]:
    """A log of EbbRT (14 fields a line) with a sample about every twentieth record; its energy counter wraps."""
    random = np.random.default_rng(seed)
    time, joules, busy, lines = 10**12, 2**32 - 40 * records, 10**9, []
    for entry in range(records):
        gap = int(random.integers(1_000, 600_000))
        time, joules, busy = time + gap, joules + gap // 4000, busy + gap // int(random.integers(1, 5))
        counters = (
            [2 * busy, 3 * busy, busy, busy // 1000, 0, 0, 3, joules % 2**32 or 1]
            if random.random() < 0.05
            else [0] * 8
        )
        traffic = random.integers(0, 4, 4) * (1, 1448, 1, 1448)
        lines.append(" ".join(map(str, [entry, *traffic, *counters, time])))
    return lines


def state_of(summary: Summary) -> list[object]:
    """Everything that a summary holds; two summaries are the same to the last bit when this is equal."""
    histograms = (summary.spacing, *summary.traffic.values())
    ends = summary.sample_ends
    return [
        summary.records, summary.empty, summary.ends.entries, summary.ends.times, summary.samples, summary.intervals,
        summary.sampled_ticks, summary.totals, summary.bins.exponent, summary.bins.first, summary.bins.rows.tolist(),
        [(h.counts.tolist(), h.count, h.sum, h.sum_of_squares, h.least, h.greatest) for h in histograms],
        summary.episodes.shares.tolist(), summary.episodes.ends, summary.episodes.closed,
        ends and (ends.ticks.tolist(), {name: values.tolist() for name, values in ends.counters.items()}),
    ]  # fmt: skip
