"""Rewrites the tables and the figures of docs/libos.md from what was counted.

    python -m bench.libos.page WINDOWS DELAYS            writes them
    python -m bench.libos.page WINDOWS DELAYS --check    exit code 1 if a table differs

WINDOWS is a `windows.jsonl` of `bench.libos.run`, DELAYS a `raw.csv` of `bench.libos.delays`, of bench/libos/results. A
table stands between its name, such as `<!-- libos and linux -->`, and `<!-- end -->`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
from bench.figures.run import write_themes
from bench.libos.costs import cells, costs, layer_cells, table
from bench.libos.count import Window
from bench.libos.delays import Row
from bench.libos.figures import delay_drawings, drawings
from bench.markdown import page_flags, rewrite_tables
from bench.rows import read_rows

PAGE: Final = Path("docs/libos.md")
FIGURES: Final = Path("docs/figures")
TABLE: Final = "libos and linux"
LAYERS: Final = "libos layers"


def read_windows(path: Path) -> Sequence[Window]:
    """The windows of a file."""
    return msgspec.json.Decoder(Window).decode_lines(path.read_bytes())


def tables(windows: Sequence[Window]) -> Mapping[str, str]:
    """The tables of the page, by name; that of layers is empty where they were not told apart."""
    by_layer = layer_cells(windows)
    return {TABLE: table(cells(windows)), LAYERS: table(by_layer) if len(by_layer) > 1 else ""}


def main(argv: Sequence[str] | None = None) -> int:
    """Writes or checks."""
    parser = page_flags(__doc__)
    parser.add_argument("windows", type=Path)
    parser.add_argument("delays", type=Path)
    args = parser.parse_args(argv)
    windows, delays = read_windows(args.windows), read_rows(args.delays, Row)
    code = rewrite_tables(PAGE, tables(windows), check=args.check)
    if not args.check:
        for drawing in (*drawings(costs(windows)), *delay_drawings(delays)):
            write_themes(drawing, FIGURES)
    return code


if __name__ == "__main__":
    sys.exit(main())
