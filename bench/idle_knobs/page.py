"""Rewrites the table of docs/idle.md that comes from the rows of `bench.idle_knobs.run`.

python -m bench.idle_knobs.page bench/idle_knobs/results/2026-11-25-2cpu-x86_64/rows.csv            writes it
python -m bench.idle_knobs.page bench/idle_knobs/results/2026-11-25-2cpu-x86_64/rows.csv --check    exit 1 if it differs
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.idle_knobs.run import KNOBS, Row
from bench.markdown import page_flags, rewrite_tables
from bench.rows import read_rows

PAGE: Final = Path("docs/idle.md")


def table(rows: Sequence[Row]) -> str:
    """A row for each load and SLO: power of the first two knobs, and what the idle knobs take off it."""
    first, *others = KNOBS
    lines = [f"| requests/s | p99 < | left alone | {first} | " + " | ".join(others) + " |"]
    lines.append("|---:|---:|---:|---:" + "|---:" * len(others) + "|")
    for qps, limit_us in dict.fromkeys((row.qps, row.limit_us) for row in rows):
        of = {row.knobs: row for row in rows if (row.qps, row.limit_us) == (qps, limit_us)}
        alone = of[first]
        default = f"{alone.default_power_w:.1f} W, {alone.default_p99_us:.0f} us"
        cells = [_change(of[name].power_w, alone.power_w) for name in others]
        lines.append(
            f"| {qps / 1e3:g}K | {limit_us:g} us | {default} | {_power(alone.power_w)} | {' | '.join(cells)} |"
        )
    return "\n".join(lines)


def _power(power_w: float | None) -> str:
    return "none keeps it" if power_w is None else f"{power_w:.1f} W"


def _change(power_w: float | None, alone_w: float | None) -> str:
    if power_w is None or alone_w is None:
        return _power(power_w)
    return f"{power_w - alone_w:+.1f} W" if abs(power_w - alone_w) >= 0.05 else "0"


def main() -> int:
    """Writes or checks the table."""
    parser = page_flags(__doc__)
    parser.add_argument("rows", type=Path, help="the rows.csv of a run")
    args = parser.parse_args()
    return rewrite_tables(PAGE, {"idle knobs": table(read_rows(args.rows, Row))}, check=args.check)


if __name__ == "__main__":
    sys.exit(main())
