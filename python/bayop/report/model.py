"""Figures of a fitted model: what it predicts against what was measured."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from bayop.model.cells import Array
from bayop.model.examine import Examination
from bayop.report.style import COLUMN_WIDE, FAINT, INK, SERIES
from bayop.units import format_qps

_BAND: Final = 0.1
_FAR_OFF: Final = 100.0
_NAMES: Final = {
    "power_w": ("power", "W", 1.0),
    "utilization": ("utilization", "%", 100.0),
    "energy_per_interrupt_j": ("energy per interrupt", "mJ", 1e3),
}


def draw_predictions(examination: Examination) -> Figure:
    """Predictions for settings that the fit had not seen, against measurements; one panel for each quantity.

    On the line a prediction is right; within the band it is off by 10 % at most.
    """
    quantities = list(examination.predictions.settings_out)
    columns = 2
    rows = -(-len(quantities) // columns)
    width, height = COLUMN_WIDE
    figure = Figure(figsize=(width, 0.95 * height * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, quantity in zip(panels, quantities, strict=False):
        _draw_quantity(axes, examination, quantity)
    for axes in panels[len(quantities) :]:
        axes.set_axis_off()
    handles, labels = panels[0].get_legend_handles_labels()
    spare = panels[len(quantities)] if len(quantities) < len(panels) else None
    if spare is not None:
        spare.legend(handles, labels, loc="center")
    else:
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), handletextpad=0.3)
    return figure


def _draw_quantity(axes: Axes, examination: Examination, quantity: str) -> None:
    cells = examination.cells
    name, unit, scale = _NAMES.get(quantity, (quantity.removesuffix("_us"), "us", 1.0))
    measured, predicted = cells.measured(quantity) * scale, examination.predictions.settings_out[quantity] * scale
    known = ~np.isnan(measured) & ~np.isnan(predicted)
    for i, load in enumerate(cells.loads):
        colour, marker = SERIES[i % len(SERIES)]
        here = known & (cells.qps == load)
        axes.plot(
            measured[here], predicted[here], marker, color=colour, markersize=4.0, markeredgewidth=0.0, alpha=0.75,
            label=f"{format_qps(load)} requests/s", zorder=3,
        )  # fmt: skip
    if known.any():
        _draw_truth(axes, _limits(measured[known], predicted[known]))
    axes.set_title(f"{name} ({unit})")
    axes.set_xlabel("measured")
    axes.set_ylabel("predicted")


def _draw_truth(axes: Axes, limits: tuple[float, float]) -> None:
    ends = np.array(limits)
    axes.fill_between(ends, ends * (1.0 - _BAND), ends * (1.0 + _BAND), color=FAINT, alpha=0.45, linewidth=0.0)
    axes.plot(ends, ends, color=INK, linewidth=0.8)
    if limits[1] / limits[0] > 4.0:
        axes.set_xscale("log")
        axes.set_yscale("log")
        ticks = (1.0,) if limits[1] / limits[0] > 100.0 else (1.0, 2.0, 5.0)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(LogLocator(subs=ticks))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_locator(NullLocator())
    axes.set_xlim(*limits)
    axes.set_ylim(*limits)


def _limits(measured: Array, predicted: Array) -> tuple[float, float]:
    """What both span; beyond a hundred times what was measured nothing is drawn."""
    low, high = float(measured.min()), float(measured.max())
    low = max(min(low, float(predicted.min())), low / _FAR_OFF)
    high = min(max(high, float(predicted.max())), high * _FAR_OFF)
    return 0.95 * low, 1.05 * high
