"""Rewrites the error tables of docs/twin.md from the profiles and the published measurements.

    python -m bench.twin.tables ../shared/data            writes them
    python -m bench.twin.tables ../shared/data --check    exit code 1 if they no longer follow from the code

A table stands between `<!-- errors: NAME -->` and `<!-- end -->`. Cross-validation takes hours and has commands of its
own on that page.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from bench.markdown import page_flags, rewrite_tables
from bench.twin import machines

from bayop.twin.profile_library import load_profile
from bayop.twin.validate import (
    CLOSED_LOOP_QUANTITIES,
    LATENCIES,
    QUANTITIES,
    Errors,
    compare,
    errors_by_load,
    read_cells,
)

PAGE: Final = Path("docs/twin.md")
REQUESTS: Final = {"memcached": 200_000, "silo": 200_000, "netpipe": 8_000}
"""Simulated requests or round trips of every cell."""

_NAMES: Final = {"linux": "Linux", "ebbrt": "EbbRT"}
_HEADS: Final = {
    "power_w": "power",
    "p99_us": "p99",
    "p50_us": "p50",
    "interrupts_per_s": "interrupts/s",
    "roundtrip_us": "round trip",
    "energy_j": "energy",
}


def errors_of(data: Path, app: str) -> list[Errors]:
    """Errors of an application's built-in profiles at every load, Linux first."""
    cells = read_cells(data / f"study_{app}.csv")
    rows: list[Errors] = []
    for system in ("linux", "ebbrt"):
        some = [cell for cell in cells if cell.os == system]
        profile = load_profile(f"{system}-{app}")
        threads = os.cpu_count() or 1
        rows += errors_by_load(compare(profile, some, requests=REQUESTS[app], seed=0, threads=threads))
    return rows


def table(app: str, rows: Sequence[Errors]) -> str:
    """Markdown: mean absolute errors in per cent, the default policy's signed."""
    names = CLOSED_LOOP_QUANTITIES if rows[0].is_closed_loop else QUANTITIES
    load = "message" if rows[0].is_closed_loop else "load"
    lines = [
        f"| {app} | {load} | cells | " + " | ".join(_HEADS.get(name, name) for name in names) + " |",
        "|---" * (3 + len(names)) + "|",
    ]
    return "\n".join([*lines, *(line for row in rows for line in _lines(row, names))])


def _lines(row: Errors, names: Sequence[str]) -> Iterator[str]:
    size = f"{row.load:g} B" if row.load < 1024 else f"{row.load / 1024:g} KB"
    load = size if row.is_closed_loop else f"{row.load / 1000:g}K"
    static = [_static(row, name) for name in names]
    yield f"| {_NAMES[row.os]} | {load} | {row.cells} | " + " | ".join(static) + " |"
    if row.default:
        cells = [f"{round(100 * row.default[name], 1) + 0.0:+.1f}" if name in row.default else "-" for name in names]
        yield f"| {_NAMES[row.os]}, default policy | {load} | 1 | " + " | ".join(cells) + " |"


def _static(row: Errors, name: str) -> str:
    if name not in row.mape:
        return "-"
    text = f"{100 * row.mape[name]:.1f}"
    every = f"{100 * row.mape_all[name]:.1f}" if name in LATENCIES and name in row.mape_all else text
    return text if every == text else f"{text} ({every})"


def main() -> int:
    """Writes or checks the tables."""
    parser = page_flags(__doc__)
    parser.add_argument("data", type=Path, help="the folder of study_memcached.csv and its siblings")
    args = parser.parse_args()
    tables = {app: table(app, errors_of(args.data, app)) for app in REQUESTS}
    tables["machines"] = machines.table(list(machines.series_of(args.data, threads=os.cpu_count() or 1)))
    return rewrite_tables(PAGE, {f"errors: {app}": rows for app, rows in tables.items()}, check=args.check)


if __name__ == "__main__":
    sys.exit(main())
