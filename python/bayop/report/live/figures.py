"""Figures of a live experiment: what deferral does, and the search's path over the sweep's map."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bayop.experiments.rig.record import LiveRecord, Point
from bayop.report.search_path import HELD_COLOUR, draw_paths
from bayop.report.style import (
    COLOUR_MAP,
    COLUMN_WIDE,
    DEFAULT_COLOUR,
    INK,
    SERIES,
    SLO_COLOUR,
    EndLabel,
    label_ends,
    new_figure,
)
from bayop.slo import Slo

_FAR: Final = 3.0
"""A limit so many times above all latencies would press them flat on the axis."""
_LEAST_SPAN_W: Final = 1.0
"""Of axes and colours: what is less apart is noise, and looks like it."""


def draw_response(record: LiveRecord) -> Figure:
    """Latency, costs of a request and power against the first knob; a line for each value of the other."""
    slo = Slo.parse(record.slo)
    width, height = COLUMN_WIDE
    figure, (latency, cpu, polls, power) = new_figure((width, 2.5 * height), rows=4)
    quantile = slo.quantity.removesuffix("_us")
    for axes, label, value in (
        (latency, f"{quantile} (us)", lambda p: None if p.cut_short else p.quantities.get(slo.quantity)),
        (cpu, f"{record.application}'s CPU time\nper request (us)", lambda p: p.cpu_us),
        (polls, "NET_RX softirqs\nper request", lambda p: p.per_request("net_rx_per_s")),
        (power, f"power (W{', estimated' if record.estimated else ''})", lambda p: p.quantities.get("power_w")),
    ):
        _draw_lines(axes, record, value, name=axes is latency)
        axes.set_ylabel(label)
    _draw_limit(latency, slo)
    for axes in (latency, cpu, polls):
        axes.set_ylim(bottom=0.0)
    power.set_ylim(*_widened(*power.get_ylim()))
    power.set_xlabel(record.knobs[0])
    return figure


def draw_map(record: LiveRecord) -> Figure:
    """The sweep's settings, coloured by power and crossed out where they miss the SLO, under the search's path."""
    slo, (x_id, y_id) = Slo.parse(record.slo), record.knobs
    figure = Figure(figsize=(5.4, 3.4), layout="constrained")
    axes = figure.subplots()
    whole = [p for p in record.sweep if "power_w" in p.quantities]
    x, y = ([float(p.setting[k]) for p in whole] for k in (x_id, y_id))
    powers_w = [p.quantities["power_w"] for p in whole]
    least_w, most_w = _widened(min(powers_w, default=0.0), max(powers_w, default=0.0))
    dots = axes.scatter(x, y, c=powers_w, cmap=COLOUR_MAP, vmin=least_w, vmax=most_w, s=150, linewidths=0)
    over = [p for p in record.sweep if not p.meets(slo)]
    axes.scatter(
        [float(p.setting[x_id]) for p in over], [float(p.setting[y_id]) for p in over], marker="x", s=60,
        color=SLO_COLOUR, linewidths=1.6, zorder=3, label=f"misses {slo}",
    )  # fmt: skip
    if record.best is not None:
        axes.plot(
            *_place(record.best, x_id, y_id), "D", markersize=11.0, color=HELD_COLOUR, markeredgecolor="black",
            linestyle="none", markeredgewidth=0.8, zorder=4.4, label="best of the sweep",
        )  # fmt: skip
    axes.set_xlabel(x_id)
    axes.set_ylabel(y_id)
    axes.set_yticks(sorted({float(p.setting[y_id]) for p in (*record.sweep, *record.search)}))
    axes.margins(0.08, 0.16)
    axes.grid(visible=False)
    marks = axes.get_legend_handles_labels()[0]
    if record.held is not None:
        marks.append(
            Line2D(
                [], [], marker="*", markersize=15.0, color=HELD_COLOUR, markeredgecolor="black", linestyle="none",
                label="found by the search",
            )
        )  # fmt: skip
    figure.legend(handles=marks, loc="outside upper center", ncols=3, handletextpad=0.3, columnspacing=1.2)
    bar = figure.colorbar(dots, ax=axes, label=f"power (W{', estimated' if record.estimated else ''})", pad=0.02)
    bar.outline.set_visible(False)
    figure.draw_without_rendering()
    held = None if record.held is None else _place(record.held, x_id, y_id)
    draw_paths(axes, [[_place(p.setting, x_id, y_id) for p in record.search]], held, size=9.0)
    return figure


def _draw_limit(axes: Axes, slo: Slo) -> None:
    """The SLO's limit with its name, which stands at the axis's upper end where the limit is far above it."""
    values = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in axes.lines])
    is_far = values.size > 0 and slo.limit_us > _FAR * values.max()
    if not is_far:
        axes.axhline(slo.limit_us, color=SLO_COLOUR, linestyle="--", linewidth=1.2)
    text, y = (f" {slo} is far above", axes.get_ylim()[1]) if is_far else (f" {slo}", slo.limit_us)
    axes.annotate(text, (0.0, y), xycoords=("axes fraction", "data"), va="bottom", color=INK, fontsize=8.5)


def _widened(low_w: float, high_w: float) -> tuple[float, float]:
    """The two, moved apart where they are too close."""
    more_w = max(_LEAST_SPAN_W - (high_w - low_w), 0.0) / 2.0
    return low_w - more_w, high_w + more_w


def _draw_lines(axes: Axes, record: LiveRecord, value: Callable[[Point], float | None], *, name: bool) -> None:
    x_id, y_id = record.knobs
    labels = []
    for (held, points), (colour, marker) in zip(sorted(_by(record.sweep, y_id).items()), SERIES, strict=False):
        pairs = sorted((float(p.setting[x_id]), v) for p in points if (v := value(p)) is not None)
        axes.plot(*np.array(pairs).T if pairs else ((), ()), color=colour, marker=marker, markersize=4.0)
        if pairs:
            labels.append(EndLabel(pairs[-1][1], f"{y_id.rpartition('.')[2]} {held:g}", colour))
    default = value(record.default)
    if default is not None:
        axes.axhline(default, color=DEFAULT_COLOUR, linewidth=1.2, linestyle=":")
    if name:
        label_ends(axes, labels, gap=0.13)


def _by(points: Sequence[Point], knob_id: str) -> Mapping[float, list[Point]]:
    groups: dict[float, list[Point]] = defaultdict(list)
    for point in points:
        groups[float(point.setting[knob_id])].append(point)
    return groups


def _place(setting: Mapping[str, float | str], x_id: str, y_id: str) -> tuple[float, float]:
    return float(setting[x_id]), float(setting[y_id])
