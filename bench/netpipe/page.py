"""Rewrites the table and the figure of docs/benchmarks.md from what `bench.netpipe.run` measured.

    python -m bench.netpipe.page RAW            writes them
    python -m bench.netpipe.page RAW --check    exit code 1 if the table differs

RAW is a `raw.csv` of bench/netpipe/results.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.figures.run import write_themes
from bench.markdown import page_flags, rewrite_tables
from bench.netpipe.run import Row, medians, table
from bench.rows import read_rows
from matplotlib.figure import Figure

from bayop.report.style import DEFAULT_COLOUR, SERIES, bayop_style
from bayop.report.svg import Drawing

PAGE: Final = Path("docs/benchmarks.md")
FIGURES: Final = Path("docs/figures")
_TITLES: Final = {"rig": "rig (gro_flush_timeout)", "lab": "lab (rx_usecs of an e1000e)"}


def drawing(rows: Sequence[Row]) -> Drawing:
    """The round trip over the delay, a panel for each place."""
    return Drawing(
        "netpipe",
        "NetPIPE's round trip over the interrupt delay",
        "Median round trip over the delay for messages of several sizes, on the rig and in the lab.",
        "Dotted: a round trip as long as the delay.",
        _draw(rows),
    )


@bayop_style()
def _draw(rows: Sequence[Row]) -> Figure:
    middle = medians(rows)
    places = list(dict.fromkeys(row.place for row in rows))
    figure = Figure(figsize=(7.4, 3.6), layout="constrained")
    for axes, place in zip(figure.subplots(1, len(places), squeeze=False)[0], places, strict=True):
        sizes = sorted({size for where, size, _ in middle if where == place})
        for size, (colour, marker) in zip(sizes, SERIES, strict=False):
            points = sorted(
                (us, p50) for (where, what, us), (p50, _, _) in middle.items() if (where, what) == (place, size)
            )
            axes.plot(*zip(*points, strict=True), color=colour, marker=marker, markersize=4, label=f"{size:,} B")
        delays_us = sorted({us for where, _, us in middle if where == place and us})
        axes.plot(delays_us, delays_us, color=DEFAULT_COLOUR, linestyle=":", zorder=1)
        axes.set_yscale("log")
        axes.set_xlabel("delay (us)")
        axes.set_title(_TITLES[place], loc="left", fontweight="bold")
    figure.axes[0].set_ylabel("round trip, p50 (us)")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def main(argv: Sequence[str] | None = None) -> int:
    """Writes or checks."""
    parser = page_flags(__doc__)
    parser.add_argument("raw", type=Path)
    args = parser.parse_args(argv)
    rows = read_rows(args.raw, Row)
    code = rewrite_tables(PAGE, {"netpipe": table(rows).rstrip("\n")}, check=args.check)
    if not args.check:
        write_themes(drawing(rows), FIGURES)
    return code


if __name__ == "__main__":
    sys.exit(main())
