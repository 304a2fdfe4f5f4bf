"""Figures of interrupt logs: spacing, spacing over time, bytes per interrupt, rates over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axis import Axis
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogFormatter

from bayop.interrupts.histogram import OCTAVE, Histogram, lower_bounds
from bayop.interrupts.summary import Summary
from bayop.interrupts.time_bins import SPACING_OCTAVE
from bayop.report.interrupts.rates import rates_of
from bayop.report.style import COLUMN_WIDE, DEFAULT_COLOUR, SERIES, new_figure, os_colour

_PALETTE: Final = tuple(colour for colour, _ in SERIES[:4])
_DASHES: Final = ("-", "--", ":", "-.")
_SHARE_OCTAVE: Final = 16
"""Buckets per octave in the drawn histogram; fewer than are kept, so that lines stay calm."""
_MARGIN: Final = 0.001
"""Share of interrupts that may lie outside the drawn spacing, at each end."""


def styles_of(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Colour and dashes of each log; the default policy and operating systems have theirs."""
    styles: dict[str, dict[str, Any]] = {}
    for name in names:
        os = os_colour(name)
        if "default" in name:
            colours: tuple[str, ...] = (DEFAULT_COLOUR,)
        else:
            colours = _PALETTE if os is None else (os,)
        uses = [style["color"] for style in styles.values()]
        colour = min(colours, key=uses.count)
        styles[name] = {"color": colour, "linestyle": _DASHES[uses.count(colour) % len(_DASHES)]}
    return styles


def draw_spacing(logs: Mapping[str, Summary]) -> Figure:
    """Histogram and cumulated share of the spacing, on a logarithmic axis."""
    width, height = COLUMN_WIDE
    figure, (shares, cumulated) = new_figure((width, 1.6 * height), rows=2)
    for name, style in styles_of(list(logs)).items():
        gaps = logs[name].spacing
        if not gaps.count:
            continue
        us = 1e6 / logs[name].layout.tick_hz
        coarse = _coarse(gaps.counts, OCTAVE // _SHARE_OCTAVE)
        edges = us * lower_bounds(np.arange(len(coarse) + 1) * (OCTAVE // _SHARE_OCTAVE))
        shares.stairs(coarse / gaps.count, edges, **style, linewidth=1.4)
        x, y = _steps(gaps, us)
        cumulated.step(x, y, where="post", label=name, **style)
    shares.set_xscale("log")
    shares.set_xlim(*_limits(logs))
    shares.set_ylabel(f"share of interrupts\nper 1/{_SHARE_OCTAVE} octave")
    cumulated.set_ylabel("share of interrupts\nat most that far apart")
    cumulated.set_xlabel("time since the interrupt before (us)")
    cumulated.set_ylim(0.0, 1.02)
    _plain_log(cumulated.xaxis)
    handles = cumulated.get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=min(2, len(logs)), handlelength=2.6)
    return figure


def draw_spacing_over_time(logs: Mapping[str, Summary]) -> Figure:
    """A map for each log: of the interrupts of a moment, how many came how long after the one before."""
    width, _ = COLUMN_WIDE
    # One map alone is as high as two: the labels beside it are long.
    figure = Figure(figsize=(width, 0.5 + 1.25 * max(len(logs), 2)), layout="constrained")
    panels = figure.subplots(len(logs), 1, squeeze=False, sharey=True)[:, 0]
    mesh = None
    for axes, (name, summary) in zip(panels, logs.items(), strict=True):
        counts = summary.bins.spacing
        us = 1e6 / summary.layout.tick_hz
        edges = us * lower_bounds(np.arange(counts.shape[1] + 1) * (OCTAVE // SPACING_OCTAVE))
        used = np.flatnonzero(counts.sum(axis=0))
        ms = 1e3 / summary.layout.tick_hz
        ticks = np.append(summary.bins.ticks(), summary.bins.ticks()[-1:] + 2**summary.bins.exponent)
        share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        low, high = (int(used[0]), int(used[-1]) + 1) if len(used) else (1, 2)
        mesh = axes.pcolormesh(
            (ticks - summary.bins.first_tick) * ms, np.maximum(edges[low : high + 1], us / 2),
            np.ma.masked_equal(share[:, low:high].T, 0.0), norm=LogNorm(1e-3, 1.0), cmap="viridis_r", rasterized=True,
        )  # fmt: skip
        axes.set_yscale("log")
        axes.set_title(name, loc="left", pad=2.0)
        axes.grid(visible=False)
        axes.set_xlim(0.0, (summary.bins.last_tick - summary.bins.first_tick) * ms or 1.0)
        axes.set_ylim(*_limits(logs))
        _plain_log(axes.yaxis)
    figure.supylabel("time since the interrupt before (us)", fontsize=9.0)
    panels[-1].set_xlabel("time (ms)")
    if mesh is not None:
        bar = figure.colorbar(mesh, ax=list(panels), label="share of the interrupts\nof that moment", pad=0.02)
        bar.outline.set_visible(False)
    return figure


def draw_traffic(logs: Mapping[str, Summary]) -> Figure:
    """Cumulated share of interrupts by what they brought; the axis is linear up to a small packet."""
    width, height = COLUMN_WIDE
    figure, panels = new_figure((width, 1.6 * height), rows=2)
    for axes, column, label in zip(panels, ("rx_bytes", "tx_bytes"), ("received", "sent"), strict=True):
        for name, style in styles_of(list(logs)).items():
            x, y = _steps(logs[name].traffic[column], 1.0)
            axes.step(np.append(x, 1e9), np.append(y, 1.0), where="post", label=name, **style)
        axes.set_ylabel(f"share of interrupts\nwith at most that {label}")
        axes.set_ylim(0.0, 1.02)
    greatest = max(log.traffic[column].greatest or 0 for log in logs.values() for column in ("rx_bytes", "tx_bytes"))
    panels[0].set_xscale("symlog", linthresh=64.0)
    panels[0].set_xlim(-4.0, max(2.0 * greatest, 128.0))
    panels[1].xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panels[1].set_xlabel("bytes per interrupt (linear below 64)")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=min(2, len(logs)))
    return figure


def draw_rates(logs: Mapping[str, Summary]) -> Figure:
    """Power, instructions per second and utilization over time."""
    width, height = COLUMN_WIDE
    figure, (power, instructions, utilization) = new_figure((width, 2.0 * height), rows=3)
    for name, style in styles_of(list(logs)).items():
        rates = rates_of(logs[name])
        middle_ms = 1e3 * (rates.start_s + rates.width_s / 2)
        for axes, values in (
            (power, rates.power_w),
            (instructions, rates.instructions_per_s / 1e9),
            (utilization, rates.utilization),
        ):
            known = np.isfinite(values)
            axes.plot(middle_ms[known], values[known], label=name, linewidth=1.1, **style)
    power.set_ylabel("power of\nthe package (W)")
    instructions.set_ylabel("10⁹ instructions/s")
    utilization.set_ylabel("share of time\nnot halted")
    utilization.set_xlabel("time (ms)")
    for axes in (power, instructions, utilization):
        axes.set_ylim(bottom=0.0)
    figure.legend(*power.get_legend_handles_labels(), loc="outside upper center", ncols=min(2, len(logs)))
    return figure


def _steps(histogram: Histogram, unit: float) -> tuple[np.ndarray, np.ndarray]:
    """Where the cumulated share rises, and to what."""
    used = np.flatnonzero(histogram.counts)
    share = np.cumsum(histogram.counts[used]) / max(histogram.count, 1)
    x = unit * lower_bounds(used)
    return np.concatenate([x[:1], x]), np.concatenate([np.zeros(min(1, len(x))), share])


def _limits(logs: Mapping[str, Summary]) -> tuple[float, float]:
    """From where to where nearly all spacings lie, in us."""
    ends = [
        1e6 / log.layout.tick_hz * (log.spacing.quantile(share) or 1.0)
        for log in logs.values()
        for share in (_MARGIN, 1.0 - _MARGIN)
    ]
    return 0.8 * max(min(ends), 1e-3), 1.25 * max(ends)


def _coarse(counts: np.ndarray, by: int) -> np.ndarray:
    padded = np.append(counts, np.zeros(-len(counts) % by, dtype=counts.dtype))
    return np.asarray(padded.reshape(-1, by).sum(axis=1))


def _plain_log(axis: Axis) -> None:
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(LogFormatter())  # speaks where less than a decade is in the picture
