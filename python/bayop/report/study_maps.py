"""The papers' split heat map: a square for every ITR-delay and frequency, one half latency, one half energy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from bayop.analysis.best import best_settings
from bayop.analysis.conditions import DELAY, FREQUENCY, delay_and_frequency
from bayop.analysis.trade_off import TradeOff
from bayop.report.study_style import DEFAULT_MARKER, plain_number
from bayop.report.study_words import axis_label
from bayop.report.style import INK, bayop_style

# Blue and orange differ for every kind of colour vision; both go from light to dark.
_LATENCY_COLOURS: Final = "Blues"
_COST_COLOURS: Final = "Oranges"
_MOST_TICKS: Final = 11
MOST_VALUES: Final = 60
"""Of a knob, in one map; more squares could not be told apart."""


def has_map(cells: pl.DataFrame) -> bool:
    """Whether a condition has a grid that a map can show."""
    pairs = delay_and_frequency(cells)
    return all(2 <= pairs[knob].n_unique() <= MOST_VALUES for knob in (DELAY, FREQUENCY)) if pairs.height else False


@bayop_style()
def draw_split_map(
    cells: pl.DataFrame, trade_off: TradeOff, *, default: Mapping[str, Any] | None = None, limit_us: float | None = None
) -> Figure:
    """The grid of one condition; the upper left of each square is latency, the lower right is cost.

    Args:
        cells: Means of one condition; settings with other knobs than the two are left out.
        trade_off: What the halves show.
        default: Means of the default, marked on both colour bars.
        limit_us: The SLO: what misses it is crossed out, the best setting that meets it is framed.
    """
    pairs = delay_and_frequency(cells).drop_nulls(trade_off.quantities)
    delays, freqs = (pairs[knob].unique().sort().to_list() for knob in (DELAY, FREQUENCY))
    figure = Figure(figsize=(5.4, min(1.6 + 0.22 * len(freqs), 4.6)), layout="constrained")
    axes = figure.subplots()
    x = np.array([delays.index(v) for v in pairs[DELAY]])
    y = np.array([freqs.index(v) for v in pairs[FREQUENCY]])
    latency, cost = (
        _halves(
            axes,
            x,
            y,
            pairs[q].to_numpy(),
            upper=q == trade_off.latency,
            default=None if default is None else default[q],
        )
        for q in trade_off.quantities
    )
    if limit_us is not None:
        missed = (pairs[trade_off.latency] >= limit_us).to_numpy()
        axes.plot(x[missed], y[missed], "x", markersize=4.5, color=INK, markeredgewidth=0.8)
        for row in best_settings(pairs, trade_off, limit_us).iter_rows(named=True):
            corner = (delays.index(row[DELAY]) - 0.5, freqs.index(row[FREQUENCY]) - 0.5)
            axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=INK, linewidth=2.0, zorder=5))
    axes.set_xlim(-0.5, len(delays) - 0.5)
    axes.set_ylim(-0.5, len(freqs) - 0.5)
    axes.grid(visible=False)
    _ticks(axes, delays, [f / 1000 for f in freqs])
    for halves, quantity in ((cost, trade_off.cost), (latency, trade_off.latency)):
        _bar(figure, axes, halves, quantity, None if default is None else default[quantity])
    return figure


def _halves(
    axes: Axes, x: np.ndarray, y: np.ndarray, values: np.ndarray, *, upper: bool, default: float | None
) -> PolyCollection:
    """One triangle of every square; the colours reach as far as the default."""
    corners = [(-0.5, -0.5), (-0.5, 0.5), (0.5, 0.5)] if upper else [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5)]
    triangles = np.stack([x, y], axis=1)[:, None, :] + np.array(corners)[None, :, :]
    shown = values if default is None else np.append(values, default)
    low, high = float(shown.min()), float(shown.max())
    # Tails span decades, powers do not.
    norm = LogNorm(low, high) if high > 3 * low else Normalize(low, high)
    halves = PolyCollection(
        list(triangles), array=values, cmap=_LATENCY_COLOURS if upper else _COST_COLOURS, norm=norm, edgecolor="white",
        linewidth=0.3,
    )  # fmt: skip
    axes.add_collection(halves)
    return halves


def _ticks(axes: Axes, delays: list[float], freqs_ghz: list[float]) -> None:
    for axis, values in ((axes.xaxis, delays), (axes.yaxis, freqs_ghz)):
        step = -(-len(values) // _MOST_TICKS)
        axis.set_ticks(range(0, len(values), step), [f"{v:g}" for v in values[::step]])
    axes.tick_params(length=0)
    axes.set_xlabel("ITR-delay (us)")
    axes.set_ylabel("frequency (GHz)")


def _bar(figure: Figure, axes: Axes, halves: PolyCollection, quantity: str, default: float | None) -> None:
    bar = figure.colorbar(halves, ax=axes, pad=0.02, aspect=24, fraction=0.05)
    upper = halves.get_cmap().name == _LATENCY_COLOURS
    bar.ax.set_title("\N{BLACK UPPER LEFT TRIANGLE}" if upper else "\N{BLACK LOWER RIGHT TRIANGLE}", pad=8)
    bar.set_label(axis_label(quantity))
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_major_formatter(plain_number)
    bar.ax.yaxis.set_minor_formatter(lambda value, _: plain_number(value) if f"{value:e}"[0] in "25" else "")
    if default is not None:
        bar.ax.plot(
            [0.5], [default], DEFAULT_MARKER, markersize=10, color="white", markeredgecolor=INK,
            markeredgewidth=0.9, transform=bar.ax.get_yaxis_transform(), clip_on=False,
        )  # fmt: skip
