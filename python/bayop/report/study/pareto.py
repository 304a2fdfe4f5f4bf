"""Every setting as a point of latency against power, with the front, the default and the best setting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bayop.analysis.best import best_settings, defaults
from bayop.analysis.conditions import by_condition
from bayop.analysis.pareto import front
from bayop.analysis.savings import setting_of
from bayop.analysis.trade_off import TradeOff
from bayop.report.study.style import (
    DEFAULT_MARKER,
    key_above,
    mark_default,
    plain_log,
    single,
    system_colours,
    thin,
)
from bayop.report.study.words import axis_label, setting_name, system_names
from bayop.report.style import INK, SLO_COLOUR, bayop_style

SURE: Final = 0.5
"""A setting is drawn as one of the front when it is on it in half of all draws."""


@bayop_style()
def draw_pareto(
    cells: pl.DataFrame,
    trade_off: TradeOff,
    *,
    likely: pl.DataFrame | None = None,
    slo: tuple[str, float] | None = None,
) -> Figure:
    """The settings of one workload, a colour a system.

    Args:
        cells: Means, as `bayop.analysis.cells` gives them.
        trade_off: Latency is drawn to the right, on a logarithmic axis; cost upwards.
        likely: What `bayop.analysis.pareto.likely_front` says of these cells; dots are drawn where it is sure.
        slo: A name and a limit in us: a line, and the best setting left of it as a diamond.
    """
    figure, axes = single((5.4, 3.4))
    parts = list(by_condition(cells.drop_nulls(trade_off.quantities)))
    names = system_names([part.keys for part in parts])
    colours = system_colours(names)
    for part, name in zip(parts, names, strict=True):
        _draw_system(axes, part.rows, trade_off, colours[name])
    if likely is not None:
        for part, name in zip(by_condition(likely), names, strict=True):
            sure = part.rows.filter(pl.col("on_front") >= SURE)
            x, y = (sure[q] for q in trade_off.quantities)
            axes.plot(x, y, "o", markersize=4.2, color=colours[name], markeredgecolor=INK, markeredgewidth=0.4)
    plain_log(axes, "x")
    axes.set_xlabel(axis_label(trade_off.latency))
    axes.set_ylabel(axis_label(trade_off.cost))
    best: dict[str, str] = {}
    if slo is not None:
        _draw_slo(axes, *slo)
        for part, name in zip(parts, names, strict=True):
            for row in best_settings(part.rows, trade_off, slo[1]).iter_rows(named=True):
                best[name] = setting_name(setting_of(row))
                x, y = (row[q] for q in trade_off.quantities)
                axes.plot(x, y, "D", markersize=6.5, color="none", markeredgecolor=INK, markeredgewidth=1.3, zorder=5)
    for row in defaults(cells).iter_rows(named=True):
        its = next(n for part, n in zip(parts, names, strict=True) if all(row[k] == v for k, v in part.keys.items()))
        mark_default(axes, row[trade_off.latency], row[trade_off.cost], colours[its])
    axes.set_ylim(0, None)
    _key(axes, colours, best, with_default=not defaults(cells).is_empty())
    return figure


def _draw_system(axes: Axes, cells: pl.DataFrame, trade_off: TradeOff, colour: str) -> None:
    points = thin(cells, *trade_off.quantities)
    x, y = (points[q] for q in trade_off.quantities)
    axes.plot(x, y, "o", markersize=3.0, color=colour, alpha=0.35, markeredgewidth=0, rasterized=points.height > 3000)
    edge = front(cells, trade_off)
    x, y = (edge[q] for q in trade_off.quantities)
    axes.step(x, y, where="post", color=colour, linewidth=1.4)


def _draw_slo(axes: Axes, name: str, limit_us: float) -> None:
    """A line with its name on the side that has more room."""
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, limit_us / 1.1), max(high, limit_us * 1.1))
    axes.axvline(limit_us, color=SLO_COLOUR, linewidth=1.2, linestyle=(0, (5, 2)), zorder=4)
    low, high = axes.get_xlim()
    to_left = np.log(limit_us / low) > 0.7 * np.log(high / low)
    axes.annotate(
        f"SLO {name}", (limit_us, 0.0), xycoords=("data", "axes fraction"), xytext=(-4 if to_left else 4, 4),
        textcoords="offset points", color=INK, fontsize=8.5, fontweight="bold", va="bottom",
        ha="right" if to_left else "left",
    )  # fmt: skip


def _key(axes: Axes, colours: Mapping[str, str], best: Mapping[str, str], *, with_default: bool) -> None:
    """One row a system: its colour and its best setting; the default last."""
    outline: dict[str, Any] = {"linestyle": "none", "color": "none", "markeredgecolor": INK}
    systems = [Line2D([], [], color=c, marker="o", markersize=4.2, label=f"{n}, its front") for n, c in colours.items()]
    star = [Line2D([], [], marker=DEFAULT_MARKER, markersize=10, label="default", **outline)] if with_default else []
    diamonds = [Line2D([], [], marker="D", markersize=5.5, label=f"best: {text}", **outline) for text in best.values()]
    # Columns fill from the top, so those of equal length make rows.
    blank = [Line2D([], [], linestyle="none", label=" ")] * (len(systems) + len(star) - len(diamonds))
    if diamonds:
        key_above(axes, 2, handles=[*systems, *star, *diamonds, *blank])
    else:
        key_above(axes, len(systems) + len(star), handles=[*systems, *star])
