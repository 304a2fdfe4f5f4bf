"""Rewrites the tables and the figure of docs/libos.md from the windows of `bench.libos.run`.

    python -m bench.libos.page bench/libos/results/2026-11-29-2cpu-x86_64/windows.jsonl            writes them
    python -m bench.libos.page bench/libos/results/2026-11-29-2cpu-x86_64/windows.jsonl --check    exit code 1 if the
                                                                                                   table differs

A table stands between its name, such as `<!-- libos and linux -->`, and `<!-- end -->`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
from bench.figures.run import write_themes
from bench.libos.costs import Cost, cells, costs, layer_cells, table
from bench.libos.count import Window
from bench.markdown import page_flags, rewrite_tables
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, StrMethodFormatter

from bayop.report.style import DEFAULT_COLOUR, OS_COLOURS, SERIES, bayop_style
from bayop.report.svg import Drawing

PAGE: Final = Path("docs/libos.md")
FIGURES: Final = Path("docs/figures")
TABLE: Final = "libos and linux"
LAYERS: Final = "libos layers"
_MARKS: Final[Mapping[str, tuple[str, str, str, float]]] = {
    "linux": (DEFAULT_COLOUR, "v", "Linux", 1.9),
    "linux-tuned": (OS_COLOURS["linux"], "s", "Linux, tuned", 1.0),
    "libos": (*SERIES[0], "library OS", 1.0),
}
"""Colour, marker, name and weight: the first is seen under what lies on it."""
_TITLES: Final = {"memcached": "memcached, a request", "tpcc": "TPC-C, a transaction"}


def read_windows(path: Path) -> Sequence[Window]:
    """The windows of a file."""
    return msgspec.json.Decoder(Window).decode_lines(path.read_bytes())


def tables(windows: Sequence[Window]) -> Mapping[str, str]:
    """The tables of the page, by name; that of layers is empty where they were not told apart."""
    by_layer = layer_cells(windows)
    return {TABLE: table(cells(windows)), LAYERS: table(by_layer) if len(by_layer) > 1 else ""}


def drawing(windows: Sequence[Window]) -> Drawing:
    """Instructions over the number of connections."""
    return Drawing(
        "libos-instructions",
        "Instructions of a request and of a transaction by the number of connections",
        "Instructions over the number of connections, on Linux, on tuned Linux and on the library OS.",
        "",
        _draw(costs(windows)),
    )


@bayop_style()
def _draw(rows: Sequence[Cost]) -> Figure:
    figure = Figure(figsize=(7.4, 3.2), layout="constrained")
    apps = list(dict.fromkeys(row.app for row in rows))
    for axes, app in zip(figure.subplots(1, len(apps), squeeze=False)[0], apps, strict=True):
        for system, (colour, marker, label, weight) in _MARKS.items():
            some = [row for row in rows if (row.app, row.system) == (app, system)]
            middle = [row.instructions_per_request / 1e3 for row in some]
            below = [mid - row.instructions_least / 1e3 for mid, row in zip(middle, some, strict=True)]
            above = [row.instructions_greatest / 1e3 - mid for mid, row in zip(middle, some, strict=True)]
            x = [row.connections for row in some]
            axes.errorbar(
                x, middle, (below, above), color=colour, marker=marker, markersize=4.5 * weight,
                linewidth=1.6 * weight, elinewidth=1.6, label=label,
            )  # fmt: skip
        axes.margins(y=0.1)
        axes.set_xscale("log")
        ticks = sorted({row.connections for row in rows})
        axes.set_xticks(ticks, [f"{number:,}" for number in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_ylim(bottom=0.0)
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.set_title(_TITLES[app], loc="left", fontweight="bold")
        axes.set_xlabel("connections")
    figure.axes[0].set_ylabel("thousand instructions")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def main(argv: Sequence[str] | None = None) -> int:
    """Writes or checks."""
    parser = page_flags(__doc__)
    parser.add_argument("windows", type=Path)
    args = parser.parse_args(argv)
    windows = read_windows(args.windows)
    code = rewrite_tables(PAGE, tables(windows), check=args.check)
    if not args.check:
        write_themes(drawing(windows), FIGURES)
    return code


if __name__ == "__main__":
    sys.exit(main())
