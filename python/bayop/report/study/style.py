"""How the figures of a study look: which colour a system has, how the default is marked, how delays are spaced."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any, Final

import matplotlib as mpl
import matplotlib.ticker
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, ListedColormap
from matplotlib.figure import Figure

from bayop.report.style import INK, SERIES, ShownFigure, os_colour

DEFAULT_MARKER: Final = "*"
_SEVERAL: Final = 6.0
"""A logarithmic axis that spans less has ticks like a linear one."""


def system_colours(names: Sequence[str]) -> dict[str, str]:
    """A colour for every system: that of its operating system; further systems of the same one have others."""
    colours: dict[str, str] = {}
    others = (colour for colour, _ in cycle(SERIES))
    for name in names:
        own = os_colour(name)
        colours[name] = next(others) if own is None or own in colours.values() else own
    return colours


def line_colours() -> Colormap:
    """Dark to bright, without the yellow that paper swallows."""
    return ListedColormap(mpl.colormaps["viridis"](np.linspace(0.0, 0.88, 256)), name="bayop-lines")


def mark_default(axes: Axes, x: float, y: float, colour: str) -> None:
    """The default policy as a star that stands out of any cloud."""
    axes.plot(
        x, y, DEFAULT_MARKER, markersize=12, color=colour, markeredgecolor=INK, markeredgewidth=0.9, zorder=6,
        clip_on=False,
    )  # fmt: skip


def single(size: tuple[float, float]) -> tuple[Figure, Axes]:
    """A figure with one pair of axes."""
    figure = ShownFigure(figsize=size, layout="constrained")
    return figure, figure.subplots()


def plain_log(axes: Axes, axis: str) -> None:
    """A logarithmic axis, whose limits are final, with plain numbers at 1, 2 and 5 of every decade."""
    chosen = axes.xaxis if axis == "x" else axes.yaxis
    (axes.set_xscale if axis == "x" else axes.set_yscale)("log")
    low, high = axes.get_xlim() if axis == "x" else axes.get_ylim()
    decades = mpl.ticker.LogLocator(subs=(1.0, 2.0, 5.0), numticks=12)
    chosen.set_major_locator(decades if high > _SEVERAL * low else mpl.ticker.MaxNLocator(6))
    chosen.set_major_formatter(plain_number)
    chosen.set_minor_locator(mpl.ticker.NullLocator())


def plain_number(value: float, _position: Any = None) -> str:  # noqa: ANN401 -- matplotlib's signature
    """A tick's number without an exponent: `0.5`, `200`, `20K`."""
    return f"{value / 1000:g}K" if abs(value) >= 10_000 else f"{value:g}"


def key_above(axes: Axes, columns: int, **options: Any) -> None:  # noqa: ANN401 -- passed on to matplotlib
    """The key above the axes, where it hides nothing."""
    axes.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, borderaxespad=0.2, handletextpad=0.5,
        columnspacing=1.3, **options,
    )  # fmt: skip


def thin(points: pl.DataFrame, x: str, y: str, *, most: int = 20_000) -> pl.DataFrame:
    """At most one point for each dot of the paper, where there are more points than dots can show.

    Both coordinates are positive and shown on any axis, so the dots are even in their logarithms.
    """
    if points.height <= most:
        return points
    dots = int(np.sqrt(most))
    spots = []
    for name in (x, y):
        log = pl.col(name).log()
        spots.append(((log - log.min()) / (log.max() - log.min()) * dots).floor().cast(pl.Int32).alias(f"spot.{name}"))
    spotted = points.lazy().select(x, y, *spots)
    names = [f"spot.{x}", f"spot.{y}"]
    return spotted.group_by(names).agg(pl.col(x).first(), pl.col(y).first()).select(x, y).collect()
