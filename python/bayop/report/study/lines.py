"""What a request costs over ITR-delay, how cores sleep, and latency distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bayop.analysis.best import defaults
from bayop.analysis.conditions import DELAY, by_condition, is_default, over_delay
from bayop.analysis.per_request import COUNTED, ENERGY, STATES, derived
from bayop.analysis.quantiles import quantile_columns, quantile_curves
from bayop.analysis.savings import setting_of
from bayop.report.study.style import DEFAULT_MARKER, key_above, plain_log, plain_number, single, system_colours
from bayop.report.study.words import axis_label, setting_name, system_name, system_names
from bayop.report.style import INK, SERIES, SLO_COLOUR, bayop_style

_DEFAULT_DASHES: Final = (0, (4, 2))
_DECADE: Final = 10.0
_SOLID_FIRST: Final = ("-", (0, (1, 1)), (0, (5, 1, 1, 1)))
_STATE_COLOURS: Final = dict(zip(STATES, (colour for colour, _ in SERIES), strict=True))
_PANELS: Final = (ENERGY, *(f"{name}_per_request" for name in COUNTED[:3]))


def per_request_quantities(cells: pl.DataFrame) -> list[str]:
    """What `draw_per_request` can show of these cells."""
    return [name for name in derived(cells) if name in _PANELS] if not over_delay(cells).is_empty() else []


@bayop_style()
def draw_per_request(cells: pl.DataFrame) -> Figure:
    """Energy, instructions, cycles and interrupts per request of one workload over ITR-delay, a colour a system.

    The line is the median over the frequencies, the band their whole range, the dashed line the default.
    """
    quantities = per_request_quantities(cells)
    columns = 2 if len(quantities) > 1 else 1
    rows = -(-len(quantities) // columns)
    figure = Figure(figsize=(5.4, 0.5 + 1.75 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
    parts = list(by_condition(cells))
    names = system_names([part.keys for part in parts])
    colours = system_colours(names)
    for axes, quantity in zip(grid.flat, quantities, strict=False):
        for part, name in zip(parts, names, strict=True):
            _draw_range(axes, part.rows, quantity, colours[name])
        axes.set_ylim(0, None)
        axes.set_xlim(0, None)
        axes.yaxis.set_major_formatter(plain_number)
        axes.set_title(axis_label(quantity), loc="left", pad=3)
    for axes in grid.flat[len(quantities) :]:
        axes.set_axis_off()
    for axes in grid.flat[max(len(quantities) - columns, 0) : len(quantities)]:
        axes.tick_params(labelbottom=True)  # nothing is below
    figure.supxlabel("ITR-delay (us)", fontsize=9, color=INK)
    marks = [Line2D([], [], color=colours[name], label=name) for name in names]
    if not defaults(cells).is_empty():
        marks.append(Line2D([], [], color=INK, linestyle=_DEFAULT_DASHES, label="default"))
    figure.legend(handles=marks, loc="outside upper center", ncols=len(marks))
    return figure


def _draw_range(axes: Axes, cells: pl.DataFrame, quantity: str, colour: str) -> None:
    value = pl.col(quantity)
    fixed = over_delay(cells).drop_nulls(quantity)
    over = fixed.group_by(DELAY).agg(value.median(), low=value.min(), high=value.max()).sort(DELAY)
    axes.fill_between(over[DELAY], over["low"], over["high"], color=colour, alpha=0.22, linewidth=0)
    axes.plot(over[DELAY], over[quantity], color=colour)
    for at in defaults(cells)[quantity].drop_nulls():
        axes.axhline(at, color=colour, linestyle=_DEFAULT_DASHES, linewidth=1.2)


def idle_quantities(cells: pl.DataFrame) -> list[str]:
    """How the sleep of cores can be shown: residencies where they are known, else entries; not what never happened."""
    if over_delay(cells).is_empty():
        return []
    residencies = [name for name in cells.columns if name.startswith("residency_")]
    entries = [f"{state}_entries_per_s" for state in STATES if f"{state}_entries_per_s" in cells.columns]
    return [name for name in residencies or entries if cells[name].drop_nulls().sum() > 0]


@bayop_style()
def draw_idle(cells: pl.DataFrame) -> Figure:
    """Idle states of one condition over ITR-delay, the median over the frequencies; the default as dashed lines."""
    figure, axes = single((5.4, 2.9))
    names = idle_quantities(cells)
    share = names[0].startswith("residency_")
    for i, name in enumerate(names):
        state = name.removeprefix("residency_").partition("_entries")[0]
        colour = _STATE_COLOURS.get(state, list(_STATE_COLOURS.values())[i % len(_STATE_COLOURS)])
        over = over_delay(cells).group_by(DELAY).agg(pl.col(name).median()).sort(DELAY).drop_nulls(name)
        axes.plot(over[DELAY], over[name], "o-", markersize=3, color=colour, label=state.upper())
        for at in defaults(cells)[name].drop_nulls():
            axes.axhline(at, color=colour, linestyle=_DEFAULT_DASHES, linewidth=1.1)
    axes.set_xlim(0, None)
    axes.set_xlabel("ITR-delay (us)")
    axes.set_ylabel("share of the cores' time" if share else "entries a second, all cores")
    low, high = axes.dataLim.intervaly
    if high > _DECADE * low > 0:
        plain_log(axes, "y")
    else:
        axes.set_ylim(0, None)
    axes.yaxis.set_major_formatter(plain_number)
    handles, _ = axes.get_legend_handles_labels()
    if not defaults(cells).is_empty():
        handles.append(Line2D([], [], color=INK, linestyle=_DEFAULT_DASHES, label="default"))
    key_above(axes, len(handles), handles=handles)
    return figure


def has_distribution(cells: pl.DataFrame) -> bool:
    """Whether there are quantiles enough for a curve."""
    return len(quantile_columns(cells)) > 2


@bayop_style()
def draw_distributions(
    cells: pl.DataFrame,
    *,
    slo: tuple[str, float, float] | None = None,
    among: Sequence[Mapping[str, Any]] | None = None,
) -> Figure:
    """The share of requests that were no slower than a time, for a few settings of one workload.

    The vertical axis counts nines, so that the tail is as wide as the body.

    Args:
        cells: The settings to draw; the default's line is dashed.
        slo: A name, a quantile and a limit in us: a cross where the curves have to be on the left.
        among: The conditions of the workload, which systems are told from; those of the cells when omitted.
    """
    figure, axes = single((5.4, 3.5))
    parts = list(by_condition(cells))
    names = [system_name(part.keys, among or [part.keys for part in parts]) for part in parts]
    colours = system_colours(names)
    handles: list[Line2D] = []
    for part, name in zip(parts, names, strict=True):
        handles += _draw_curves(axes, part.rows, name, colours[name])
    shares = quantile_curves(cells)["quantile"].unique().sort().to_list()
    spaced = [q for i, q in enumerate(shares) if i == len(shares) - 1 or _nines(shares[i + 1]) - _nines(q) > 0.09]
    axes.set_yticks([_nines(q) for q in spaced], [f"{100 * q:.10g} %" for q in spaced])
    plain_log(axes, "x")
    axes.set_xlabel("latency (us)")
    axes.set_ylabel("requests no slower")
    if slo is not None:
        text, quantile, limit_us = slo
        axes.plot(limit_us, _nines(quantile), "P", markersize=8, color=SLO_COLOUR, markeredgewidth=0, zorder=6)
        axes.annotate(
            f"SLO {text}", (limit_us, _nines(quantile)), xytext=(7, -3), textcoords="offset points", fontsize=8.5,
            color=INK, fontweight="bold", va="top", annotation_clip=False,
        )  # fmt: skip
        axes.set_xlim(None, max(axes.get_xlim()[1], 2.2 * limit_us))
    key_above(axes, 1, handles=handles)
    return figure


def _draw_curves(axes: Axes, cells: pl.DataFrame, name: str, colour: str) -> Sequence[Line2D]:
    lines: list[Line2D] = []
    styles = iter(_SOLID_FIRST * cells.height)
    default = cells.select(is_default(cells)).to_series()
    for i, row in enumerate(cells.iter_rows(named=True)):
        curve = quantile_curves(cells[i : i + 1])
        lines += axes.plot(
            curve["latency_us"], [_nines(q) for q in curve["quantile"]], color=colour,
            linestyle=_DEFAULT_DASHES if default[i] else next(styles),
            marker=DEFAULT_MARKER if default[i] else "o", markersize=7 if default[i] else 3,
            label=f"{name}: {setting_name(setting_of(row))}",
        )  # fmt: skip
    return lines


def _nines(quantile: float) -> float:
    """1 for 90 %, 2 for 99 %."""
    return float(-np.log10(1.0 - quantile))
