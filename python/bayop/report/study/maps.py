"""Heat maps: a square for every ITR-delay and frequency, coloured by latency in one panel and by cost in the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import polars as pl
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from bayop.analysis.best import best_settings
from bayop.analysis.conditions import DELAY, FREQUENCY, delay_and_frequency
from bayop.analysis.trade_off import TradeOff
from bayop.report.study.style import DEFAULT_MARKER, plain_number
from bayop.report.study.words import axis_label
from bayop.report.style import INK, bayop_style

# Blue and orange differ for every kind of colour vision; both go from light to dark.
_LATENCY_COLOURS: Final = "Blues"
_COST_COLOURS: Final = "Oranges"
_MOST_TICKS: Final = 11
_HALO: Final = (patheffects.Stroke(linewidth=2.6, foreground="white"), patheffects.Normal())
MOST_VALUES: Final = 60
"""Of a knob, in one map; more squares could not be told apart."""


def has_map(cells: pl.DataFrame) -> bool:
    """Whether a condition has a grid that a map can show."""
    pairs = delay_and_frequency(cells)
    return all(2 <= pairs[knob].n_unique() <= MOST_VALUES for knob in (DELAY, FREQUENCY)) if pairs.height else False


@bayop_style()
def draw_maps(
    cells: pl.DataFrame, trade_off: TradeOff, *, default: Mapping[str, Any] | None = None, limit_us: float | None = None
) -> Figure:
    """The grid of one condition: latency in the upper panel, cost in the lower one.

    Args:
        cells: Means of one condition; settings with other knobs than the two are left out.
        trade_off: What the panels show.
        default: Means of the default, marked on both colour bars.
        limit_us: The SLO: what misses it is crossed out, the best setting that meets it is framed.
    """
    pairs = delay_and_frequency(cells).drop_nulls(trade_off.quantities)
    delays, freqs = (pairs[knob].unique().sort().to_list() for knob in (DELAY, FREQUENCY))
    figure = Figure(figsize=(5.4, min(1.6 + 0.4 * len(freqs), 6.4)), layout="constrained")
    panels = figure.subplots(2, 1, sharex=True)
    x = np.array([delays.index(v) for v in pairs[DELAY]])
    y = np.array([freqs.index(v) for v in pairs[FREQUENCY]])
    missed = np.zeros(len(x), bool) if limit_us is None else (pairs[trade_off.latency] >= limit_us).to_numpy()
    best = [] if limit_us is None else best_settings(pairs, trade_off, limit_us).to_dicts()
    for axes, quantity in zip(panels, trade_off.quantities, strict=True):
        grid = np.full((len(freqs), len(delays)), np.nan)
        grid[y, x] = pairs[quantity].to_numpy()
        of_default = None if default is None else default[quantity]
        mesh = _draw_grid(axes, grid, _LATENCY_COLOURS if quantity == trade_off.latency else _COST_COLOURS, of_default)
        axes.plot(
            x[missed], y[missed], "x", markersize=4.5, color="black", markeredgewidth=0.9, path_effects=_HALO
        )  # fmt: skip
        for row in best:
            corner = (delays.index(row[DELAY]) - 0.5, freqs.index(row[FREQUENCY]) - 0.5)
            frame = Rectangle(corner, 1, 1, fill=False, edgecolor="black", linewidth=1.8, zorder=5, path_effects=_HALO)
            axes.add_patch(frame)
        _ticks(axes, delays, [f / 1000 for f in freqs])
        _bar(figure, axes, mesh, quantity, of_default)
    panels[-1].set_xlabel("ITR-delay (us)")
    return figure


def _draw_grid(axes: Axes, grid: np.ndarray, colours: str, default: float | None) -> QuadMesh:
    """A square for each setting; the colours reach as far as the default."""
    shown = grid[np.isfinite(grid)] if default is None else np.append(grid[np.isfinite(grid)], default)
    low, high = float(shown.min()), float(shown.max())
    # Tails span decades, powers do not.
    norm = LogNorm(low, high) if high > 3 * low else Normalize(low, high)
    edges = [np.arange(size + 1) - 0.5 for size in grid.shape[::-1]]
    axes.grid(visible=False)
    return axes.pcolormesh(*edges, grid, cmap=colours, norm=norm, edgecolor="white", linewidth=0.3)


def _ticks(axes: Axes, delays: list[float], freqs_ghz: list[float]) -> None:
    for axis, values in ((axes.xaxis, delays), (axes.yaxis, freqs_ghz)):
        step = -(-len(values) // _MOST_TICKS)
        axis.set_ticks(range(0, len(values), step), [f"{v:g}" for v in values[::step]])
    axes.tick_params(length=0)
    axes.set_ylabel("frequency (GHz)")


def _bar(figure: Figure, axes: Axes, mesh: QuadMesh, quantity: str, default: float | None) -> None:
    bar = figure.colorbar(mesh, ax=axes, pad=0.02, aspect=16, fraction=0.05)
    bar.set_label(axis_label(quantity))
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_major_formatter(plain_number)
    bar.ax.yaxis.set_minor_formatter(lambda value, _: plain_number(value) if f"{value:e}"[0] in "25" else "")
    if default is not None:
        bar.ax.plot(
            [0.5], [default], DEFAULT_MARKER, markersize=10, color="white", markeredgecolor=INK,
            markeredgewidth=0.9, transform=bar.ax.get_yaxis_transform(), clip_on=False,
        )  # fmt: skip
