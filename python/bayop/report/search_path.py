"""Searches as paths over a map: numbered trials that never cover each other, and what was held."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, Final

import numpy as np
from matplotlib import patheffects
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation

Point = tuple[float, float]

HELD_COLOUR: Final = "#ffd23f"
POINTS: Final = 72.0
"""In an inch."""

_STAR: Final = 2.1
"""Size of the star against that of a badge."""
_RINGS: Final = (1.3, 1.7, 2.2, 2.8, 3.5)
"""Where a badge may move to, in badges from its trial."""
_DIRECTIONS: Final = tuple((math.cos(a), math.sin(a)) for a in (math.tau * i / 16 for i in range(16)))
_HALO: Final = (patheffects.Stroke(linewidth=2.6, foreground="black"), patheffects.Normal())
_TIE: Final = {"arrowstyle": "-", "color": "white", "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0}
_BADGE: Final[dict[str, Any]] = {"color": "white", "markeredgecolor": "black", "markeredgewidth": 0.7}


def draw_paths(axes: Axes, paths: Sequence[Sequence[Point]], held: Point | None, *, size: float) -> None:
    """Draws searches over axes with final limits and a place on the paper (`Figure.draw_without_rendering`).

    A trial's number stands on it where it has room; elsewhere it stands beside it, tied to it by a line.

    Args:
        axes: The map.
        paths: The trials of each search, in order; the numbers count on from one search to the next.
        held: What the last search chose: a star.
        size: Of a number's badge, in points.
    """
    artists: list[Artist] = []
    for path in paths:
        x, y = np.array(path).reshape(-1, 2).T
        artists += axes.plot(x, y, color="white", linewidth=1.1, path_effects=_HALO, zorder=4)
    if held is not None:
        artists += axes.plot(
            *held, "*", markersize=_STAR * size, color=HELD_COLOUR, markeredgecolor="black", markeredgewidth=0.8,
            zorder=4.5,
        )  # fmt: skip
    places = [place for path in paths for place in path]
    inches = axes.transData - axes.figure.dpi_scale_trans
    on_paper: list[Point] = [tuple(POINTS * inches.transform(place)) for place in places]
    star = None if held is None else tuple(POINTS * inches.transform(held))
    stands = badges(on_paper, star, size)
    for number, (place, at, stand) in enumerate(zip(places, on_paper, stands, strict=True), start=1):
        offset = (stand[0] - at[0], stand[1] - at[1])
        is_moved = stand != at
        if is_moved:
            artists += axes.plot(*place, "o", markersize=0.35 * size, **_BADGE, zorder=5)
        shift = ScaledTranslation(offset[0] / POINTS, offset[1] / POINTS, axes.figure.dpi_scale_trans)
        artists += axes.plot(*place, "o", markersize=size, **_BADGE, transform=axes.transData + shift, zorder=5.5)
        artists.append(
            axes.annotate(
                str(number), place, xytext=offset, textcoords="offset points", ha="center", va="center_baseline",
                color="black", fontsize=0.78 * size, fontweight="bold", annotation_clip=False, zorder=6,
                arrowprops=_TIE if is_moved else None,
            )
        )  # fmt: skip
    for artist in artists:
        artist.set_clip_on(False)
        artist.set_in_layout(False)  # the axes keep their place


def badges(points: Sequence[Point], star: Point | None, size: float) -> list[Point]:
    """Where the badges of trials stand, so that none covers another one, another trial or the star; all in points.

    Args:
        points: Where the trials are.
        star: Where the star is.
        size: Diameter of a badge.
    """
    stands: list[Point] = []
    for here in points:

        def is_free(at: Point, here: Point = here) -> bool:
            return (
                all(math.dist(at, stand) > 1.12 * size for stand in stands)
                and all(math.dist(at, other) > 0.8 * size for other in points if other != here)
                and (star is None or math.dist(at, star) > 1.5 * size)
            )

        x, y = here
        around = ((x + ring * size * dx, y + ring * size * dy) for ring, (dx, dy) in product(_RINGS, _DIRECTIONS))
        stands.append(next(filter(is_free, (here, *around)), here))
    return stands
