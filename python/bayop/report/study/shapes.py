"""The papers' two shapes: the V of closed-loop work over ITR-delay, and the L of tail latency against power."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bayop.analysis.cells import STANDARD_ERROR
from bayop.analysis.conditions import DELAY, FREQUENCY, delay_and_frequency, over_delay
from bayop.analysis.pareto import front
from bayop.analysis.shapes import corner, v_minima
from bayop.analysis.trade_off import TradeOff
from bayop.report.study.maps import MOST_VALUES
from bayop.report.study.style import DEFAULT_MARKER, key_above, line_colours, plain_number, single
from bayop.report.study.words import axis_label
from bayop.report.style import DEFAULT_COLOUR, FAINT, INK, bayop_style


def has_v_shape(cells: pl.DataFrame) -> bool:
    """Whether a condition has several ITR-delays, and not too many frequencies to tell their lines apart."""
    pairs = over_delay(cells)
    return pairs[DELAY].n_unique() > 1 and pairs[FREQUENCY].n_unique() <= MOST_VALUES


@bayop_style()
def draw_v_shape(cells: pl.DataFrame, quantity: str, *, default: Mapping[str, Any] | None = None) -> Figure:
    """A quantity of one condition over ITR-delay, a line a frequency, with the least value of each as a dot.

    The default has no delay of its own: it is the dashed line, with its standard error as a band. A scale tells several
    frequencies apart; one alone, and settings that leave it to the operating system, are named in a key.
    """
    figure, axes = single((5.4, 3.2))
    pairs = over_delay(cells).drop_nulls(quantity).sort(FREQUENCY, DELAY)
    fixed = pairs[FREQUENCY].drop_nulls()
    shade = _shades(fixed)
    colours: dict[float | None, Any] = {None: DEFAULT_COLOUR} | {
        freq: shade.to_rgba(freq / 1000) for freq in fixed.unique()
    }
    for (freq,), line in pairs.partition_by(FREQUENCY, as_dict=True).items():
        (drawn,) = axes.plot(line[DELAY], line[quantity], color=colours[freq], linewidth=1.2)
        if freq is None or fixed.n_unique() == 1:
            drawn.set_label("frequency left alone" if freq is None else f"{freq / 1000:g} GHz")
    least = v_minima(cells, quantity)
    for freq, delay_us, value in least.select(FREQUENCY, "delay_us", "least").iter_rows():
        axes.plot(
            delay_us, value, "o", markersize=4.5, color=colours[freq], markeredgecolor=INK, markeredgewidth=0.6,
            zorder=4,
        )  # fmt: skip
    if default is not None and default[quantity] is not None:
        _default_line(axes, default[quantity], default[STANDARD_ERROR + quantity], float(pairs[DELAY].max()))  # type: ignore[arg-type]
    axes.set_xlim(0, None)
    axes.yaxis.set_major_formatter(plain_number)
    axes.set_xlabel("ITR-delay (us)")
    axes.set_ylabel(axis_label(quantity))
    if fixed.n_unique() > 1:
        _frequency_bar(figure, axes, shade)
    if axes.get_legend_handles_labels()[0]:
        key_above(axes, 2)
    return figure


@bayop_style()
def draw_l_shape(
    cells: pl.DataFrame, trade_off: TradeOff, *, default: Mapping[str, Any] | None = None, limit_us: float | None = None
) -> Figure:
    """The settings of one condition, cost to the right and latency upwards, coloured by frequency; the front is an L.

    Where a few settings are slower by far than the rest, the limit and the default, they are out of the picture.
    """
    figure, axes = single((5.4, 3.2))
    pairs = delay_and_frequency(cells).drop_nulls(trade_off.quantities)
    edge = front(pairs, trade_off)
    shade = _shades(pairs[FREQUENCY])
    axes.step(edge[trade_off.cost], edge[trade_off.latency], where="pre", color=DEFAULT_COLOUR, linewidth=1.2, zorder=2)
    axes.scatter(
        pairs[trade_off.cost], pairs[trade_off.latency], c=shade.to_rgba((pairs[FREQUENCY] / 1000).to_numpy()), s=14,
        linewidth=0, zorder=3,
    )  # fmt: skip
    marks: list[Line2D] = []
    for row in corner(pairs, trade_off).iter_rows(named=True):
        marks += axes.plot(
            row[trade_off.cost], row[trade_off.latency], "o", markersize=9, color="none", markeredgecolor=INK,
            markeredgewidth=1.2, zorder=5, label=f"corner: {row[DELAY]:g} us, {row[FREQUENCY] / 1000:g} GHz",
        )  # fmt: skip
    if default is not None:
        marks += axes.plot(
            default[trade_off.cost], default[trade_off.latency], DEFAULT_MARKER, markersize=12, color="white",
            markeredgecolor=INK, zorder=6, label="default",
        )  # fmt: skip
    latencies = pairs[trade_off.latency].to_numpy()
    shown = [
        float(np.quantile(latencies, 0.7)),
        limit_us or 0.0,
        0.0 if default is None else default[trade_off.latency],
    ]
    axes.set_ylim(0, min(1.6 * max(shown), 1.06 * float(latencies.max())))
    axes.yaxis.set_major_formatter(plain_number)
    axes.set_xlabel(axis_label(trade_off.cost))
    axes.set_ylabel(axis_label(trade_off.latency))
    _frequency_bar(figure, axes, shade)
    key_above(axes, 3, handles=[Line2D([], [], color=DEFAULT_COLOUR, linewidth=1.2, label="front"), *marks])
    return figure


def _shades(freqs_mhz: pl.Series) -> ScalarMappable:
    freqs_ghz = freqs_mhz.to_numpy() / 1000
    return ScalarMappable(Normalize(freqs_ghz.min(), freqs_ghz.max()) if len(freqs_ghz) else None, line_colours())


def _frequency_bar(figure: Figure, axes: Axes, shade: ScalarMappable) -> None:
    bar = figure.colorbar(shade, ax=axes, label="frequency (GHz)", pad=0.02, aspect=24, fraction=0.05)
    bar.outline.set_visible(False)


def _default_line(axes: Axes, value: float, error: float | None, x: float) -> None:
    axes.axhspan(value - (error or 0.0), value + (error or 0.0), color=FAINT, alpha=0.6, linewidth=0, zorder=1)
    axes.axhline(value, color=INK, linewidth=1.1, linestyle=(0, (4, 2)), zorder=3)
    axes.plot(x, value, DEFAULT_MARKER, markersize=12, color="white", markeredgecolor=INK, zorder=6, clip_on=False)
    axes.annotate(
        "default", (x, value), xytext=(-8, 4), textcoords="offset points", ha="right", fontsize=8, color=INK, zorder=6,
    )  # fmt: skip
