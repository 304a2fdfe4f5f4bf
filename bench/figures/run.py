"""Draws the figures of README and docs again, from the data that come with BayOp.

Writes docs/figures/overview-{light,dark}.svg: what `bayop tune --target study --data example:memcached --load 600k
--slo 'p99<500us'` finds; and docs/figures/study/{pareto,map}.png: two figures of `bayop report example:memcached`.

Example:
  python -m bench.figures.run
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import matplotlib as mpl
from bench.figures import overview

from bayop.analysis.summary import summarize
from bayop.report.study.report import draw_workload
from bayop.report.style import FAINT, INK, bayop_style
from bayop.report.svg import Drawing, save_png
from bayop.study import open_study
from bayop.study.example import example_file

THEMES: Final[Mapping[str, Mapping[str, str]]] = {"light": {}, "dark": {INK: "#e6edf3", FAINT: "#4a5561"}}
"""What the colours of a figure become on white paper and on GitHub's dark."""


def main(argv: Sequence[str] | None = None) -> None:
    """Writes the files, and their names to stdout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs/figures"), metavar="DIR")
    out = parser.parse_args(argv).out
    out.mkdir(parents=True, exist_ok=True)
    drawing = overview.drawing()
    for path in write_themes(drawing, out):
        sys.stdout.write(f"{path}\n")
    study = out / "study"
    study.mkdir(exist_ok=True)
    for drawing in study_figures():
        save_png(drawing, study / f"{drawing.name}.png")
        sys.stdout.write(f"{study / drawing.name}.png\n")


def study_figures() -> Iterator[Drawing]:
    """The front and the maps at 600,000 requests/s, under the names of their files."""
    summaries = summarize(open_study(example_file("memcached")), overview.SLO, seed=overview.SEED)
    summary = next(s for s in summaries if s.keys["qps_offered"] == overview.LOAD_QPS)
    for drawing in draw_workload(summary):
        for name in ("pareto", "map"):
            if drawing.name.endswith(f"-{name}"):
                yield replace(drawing, name=name)


def write_themes(drawing: Drawing, folder: Path) -> list[Path]:
    """Writes NAME-light.svg and NAME-dark.svg for pages that show one or the other; returns the paths."""
    text = outline(drawing)
    paths = []
    for theme, colours in THEMES.items():
        themed = text
        for colour, becomes in colours.items():
            themed = themed.replace(colour, becomes)
        paths.append(folder / f"{drawing.name}-{theme}.svg")
        paths[-1].write_text(themed, encoding="utf-8")
    return paths


def outline(drawing: Drawing) -> str:
    """The figure as SVG with its letters as shapes: an image in a page can't bring a font along."""
    buffer = io.StringIO()
    with bayop_style(), mpl.rc_context({"svg.fonttype": "path"}):
        drawing.figure.savefig(buffer, format="svg", metadata={"Date": None, "Title": drawing.title}, dpi=120)
    return buffer.getvalue()


if __name__ == "__main__":
    main()
