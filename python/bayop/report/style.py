"""One look for every figure: colours that colour-blind readers can tell apart, and sizes that survive a paper's column.

Figures have no background and one ink colour, so that a page can give them its own (`bayop.report.svg`).
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK: Final = "#20262e"
FAINT: Final = "#b9c0ca"
SLO_COLOUR: Final = "#d8412f"
"""Of the SLO's limit, and of what misses it."""
COLUMN_WIDE: Final = (5.4, 3.0)
"""Inches; at 3.4 in, a paper's column, the text is still 6 points high."""
COLOUR_MAP: Final = "viridis"
"""Of maps: the more, the brighter, on paper without colour too."""
_NOTEBOOK_DPI: Final = 110

# After Okabe and Ito, moved to a lightness that stands out of white and of black paper by 3:1 or more (WCAG 2, AA).
# Text is never coloured: no colour reads on both.
OS_COLOURS: Final[Mapping[str, str]] = {"linux": "#2f81d6", "ebbrt": "#14a07a"}
"""The one colour of each operating system, in every figure."""
DEFAULT_COLOUR: Final = "#7d8590"
"""Of an operating system's own policy."""
SERIES: Final = (("#b87a12", "o"), ("#b978c0", "s"), ("#6f8a2f", "^"), ("#cc5f8a", "D"), (DEFAULT_COLOUR, "v"))
"""Colours and markers of what is no operating system."""
COLOURS: Final[Mapping[str, str]] = {
    "linux-default": DEFAULT_COLOUR,
    "itr-only": SERIES[0][0],
    "frequency-only": SERIES[1][0],
    "bayop-linux": OS_COLOURS["linux"],
    "bound-linux": OS_COLOURS["linux"],
    "bayop-ebbrt": OS_COLOURS["ebbrt"],
    "bound-ebbrt": OS_COLOURS["ebbrt"],
}
"""Of the configurations of a day."""

# `Any`, because the type of the keys differs between releases of matplotlib.
_SETTINGS: Final[Any] = {
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    # Ticks are the numbers that they stand for: a factor or an offset beside the axis is overlooked, or in the way.
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-9, 9),
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "grid.alpha": 0.6,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.labelsize": 9.0,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.solid_capstyle": "butt",
    "hatch.linewidth": 0.4,
    "svg.fonttype": "none",
    "svg.hashsalt": "bayop",
}


@dataclass(frozen=True, slots=True)
class EndLabel:
    """A label at the right end of a line."""

    y: float
    text: str
    colour: str


def os_colour(name: str) -> str | None:
    """The colour of the operating system that a name holds, such as `ebbrt on node1`; None when it holds none."""
    return next((colour for os, colour in OS_COLOURS.items() if os in name.lower()), None)


@contextmanager
def bayop_style() -> Iterator[None]:
    """Draws everything inside in the project's look; nothing global is changed."""
    with mpl.rc_context(_SETTINGS):
        yield


class ShownFigure(Figure):
    """A figure that a notebook shows by itself, as the last thing of a cell: on white paper, whatever the page's is."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        with bayop_style():
            self.savefig(buffer, format="png", dpi=_NOTEBOOK_DPI, facecolor="white")
        return buffer.getvalue()


def new_figure(size: tuple[float, float] = COLUMN_WIDE, rows: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure without pyplot (and so without any window system), with axes below each other sharing x."""
    figure = ShownFigure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False)
    return figure, [row[0] for row in axes]


def label_ends(axes: Axes, labels: Sequence[EndLabel], *, gap: float = 0.075) -> None:
    """Names lines at their right ends, spread apart so that no two labels overlap.

    Args:
        axes: Whose y limits are final.
        labels: Where each line ends.
        gap: Least distance between two labels, as a share of the axes' height.
    """
    to_axes = axes.transData + axes.transAxes.inverted()
    x_end = axes.get_xlim()[1]
    wanted = [(float(to_axes.transform((x_end, label.y))[1]), label) for label in sorted(labels, key=lambda a: a.y)]
    for (at, label), y in zip(wanted, spread([at for at, _ in wanted], gap), strict=True):
        axes.annotate(
            label.text,
            xy=(1.0, at),
            xytext=(1.05, y),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            ha="left",
            color=INK,
            fontsize=8.5,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": label.colour,
                "linewidth": 1.6,
                "shrinkA": 1,
                "shrinkB": 0,
                "relpos": (0, 0.5),
            },
        )


def spread(wanted: Sequence[float], gap: float, low: float = 0.0, high: float = 1.0) -> list[float]:
    """Positions at least `gap` apart, as near to the ascending `wanted` as they fit between `low` and `high`.

    Positions that would overlap form a block that is centred on what its members wanted.
    """
    blocks: list[list[float]] = []
    for at in wanted:
        blocks.append([at])
        while len(blocks) > 1 and _bottom(blocks[-1], gap, low, high) < _top(blocks[-2], gap, low, high) + gap:
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return [_bottom(block, gap, low, high) + gap * i for block in blocks for i in range(len(block))]


def _bottom(block: Sequence[float], gap: float, low: float, high: float) -> float:
    length = gap * (len(block) - 1)
    return max(low, min(sum(block) / len(block) - length / 2, high - length))


def _top(block: Sequence[float], gap: float, low: float, high: float) -> float:
    return _bottom(block, gap, low, high) + gap * (len(block) - 1)
