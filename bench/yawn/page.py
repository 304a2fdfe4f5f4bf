"""Rewrites the tables of docs/idle.md that come from `bench.yawn.run` and `bench.yawn.play`, and the latter's figures.

python -m bench.yawn.page            writes them
python -m bench.yawn.page --check    exit code 1 if a table differs
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from bench.figures.run import write_themes
from bench.markdown import page_flags, rewrite_tables
from bench.rows import read_rows
from bench.yawn.played import read_cores, read_day
from bench.yawn.run import CLOCKS, ELSEWHERE, Row

from bayop.experiments.idle.policy import POLICIES
from bayop.experiments.idle.record import CoreUse, Day
from bayop.report import idle_cores, idle_day
from bayop.report.idle_tables import core_cells, day_cells

PAGE: Final = Path("docs/idle.md")
FIGURES: Final = Path("docs/figures")
RESULTS: Final = Path("bench/yawn/results")
SERVER: Final = "memcached on [Y]'s server"
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


def played_tables(uses: Sequence[CoreUse], day: Day) -> Iterator[tuple[str, str]]:
    """Name and Markdown of each."""
    yield "yawn: cores", _markdown(core_cells([use for use in uses if use.qps in SHOWN_QPS]))
    yield "yawn: day", _markdown(day_cells(day))


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    """The first row is the header, the first column stands left and all others right."""
    header, *others = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([header, "|---|" + "---:|" * (len(rows[0]) - 1), *others])


def main() -> int:
    """Writes or checks."""
    args = page_flags(__doc__).parse_args()
    played = newest("cores.jsonl")
    uses, day = read_cores(played), read_day(played, SERVER)
    every = dict([*tables(read_rows(newest("rows.csv") / "rows.csv", Row)), *played_tables(uses, day)])
    code = rewrite_tables(PAGE, every, check=args.check)
    if not args.check:
        for drawing in (idle_cores.drawing(uses, SERVER), idle_day.drawing(day)):
            write_themes(drawing, FIGURES)
    return code


def newest(name: str) -> Path:
    """The last folder of results that has a file of this name."""
    return max(RESULTS.glob(f"*/{name}")).parent


if __name__ == "__main__":
    sys.exit(main())
