"""Rewrites the tables of docs/idle.md that come from the rows of `bench.yawn.run`.

python -m bench.yawn.page bench/yawn/results/2026-11-23-2cpu-x86_64/rows.csv            writes them
python -m bench.yawn.page bench/yawn/results/2026-11-23-2cpu-x86_64/rows.csv --check    exit code 1 if they differ
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from bench.markdown import replace_table
from bench.rows import read_rows
from bench.yawn.run import CLOCKS, ELSEWHERE, POLICIES, Row

PAGE: Final = Path("docs/idle.md")
SHOWN_QPS: Final = (5e3, 10e3, 20e3, 40e3, 70e3)


def tables(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Name and Markdown of each."""
    there = [row for row in rows if row.server != ELSEWHERE and row.qps in SHOWN_QPS]
    yield "yawn: latency", _table(there, _latencies)
    yield "yawn: power", _table(there, _powers)
    for clock in CLOCKS:
        here = [row for row in rows if row.server == ELSEWHERE and row.clock == clock]
        yield f"yawn: {clock}", _table(here, lambda row: f"{row.power_w:.1f} W, {row.p99_us:.0f} us")


def _latencies(row: Row) -> str:
    published = "" if row.published_mean_us is None else f" ({row.published_mean_us:.0f}, {row.published_p99_us:.0f})"
    return f"{row.mean_us:.0f}, {row.p99_us:.0f}{published}"


def _powers(row: Row) -> str:
    published = "" if row.published_power_w is None else f" ({row.published_power_w:.1f})"
    return f"{row.power_w:.1f}{published}"


def _table(rows: Sequence[Row], cell: Callable[[Row], str]) -> str:
    """A row for each load, a column for each policy."""
    names = [policy.name for policy in POLICIES]
    lines = ["| requests/s | " + " | ".join(names) + " |", "|---:" * (1 + len(names)) + "|"]
    for qps in sorted({row.qps for row in rows}):
        at = {row.policy: cell(row) for row in rows if row.qps == qps}
        lines.append(f"| {qps / 1e3:g}K | " + " | ".join(at[name] for name in names) + " |")
    return "\n".join(lines)


def main() -> None:
    """Writes or checks the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, help="the rows.csv of a run")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a table differs")
    args = parser.parse_args()
    before = after = PAGE.read_text(encoding="utf-8")
    for name, text in tables(read_rows(args.rows, Row)):
        after = replace_table(after, name, text)
    if args.check:
        sys.exit(int(before != after))
    PAGE.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main()
