"""A day's experiment in figures over time: load, power, latency, what was held, and what it all cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bayop.control.ledger import LedgerWindow
from bayop.experiments.day.record import DayRecord, RunRecord
from bayop.experiments.day.summary import summarize
from bayop.report.style import COLOURS, COLUMN_WIDE, DEFAULT_COLOUR, INK, SLO_COLOUR, EndLabel, label_ends, new_figure
from bayop.slo import Slo
from bayop.space import FREQ_MHZ, RX_USECS
from bayop.units import HOUR_S

_TICK_HOURS: Final = (1, 2, 4, 6, 12, 24)


_LEFT, _RIGHT, _ABOVE, _BELOW = 0.78, 1.28, 0.3, 0.48
"""Margins of every figure over time, in inches: an hour is at the same place in all of them."""

_LEAST_MARGIN: Final = -30.0
"""To the SLO, in per cent of its limit; what missed it by more is drawn here."""


def _day_figure(height: float, rows: int = 1) -> tuple[Figure, list[Axes]]:
    width, _ = COLUMN_WIDE
    figure = Figure(figsize=(width, height))
    places = {
        "left": _LEFT / width,
        "right": 1.0 - _RIGHT / width,
        "bottom": _BELOW / height,
        "top": 1.0 - _ABOVE / height,
    }
    grid = figure.subplots(rows, 1, sharex=True, squeeze=False, gridspec_kw=places | {"hspace": 0.16})
    figure.align_ylabels(grid)
    return figure, list(grid[:, 0])


def draw_load(record: DayRecord) -> Figure:
    """Offered load over the day."""
    figure, (axes,) = _day_figure(2.1)
    hours = list(range(len(record.hourly_qps) + 1))
    load = [q / 1000 for q in record.hourly_qps]
    axes.fill_between(hours, [*load, load[-1]], step="post", color=DEFAULT_COLOUR, alpha=0.25, linewidth=0)
    axes.step(hours, [*load, load[-1]], where="post", color=DEFAULT_COLOUR)
    axes.set_ylabel("load\n(1000 requests/s)")
    axes.set_ylim(0, max(load) * 1.12)
    _hours(axes, len(load))
    return figure


def draw_power(record: DayRecord) -> Figure:
    """Power over the day, a line a configuration."""
    figure, (axes,) = _day_figure(3.3)
    ends = [
        (run.kind, _draw_run(axes, run, lambda w: math.nan if w.power_w is None else w.power_w)) for run in record.runs
    ]
    axes.set_ylabel("power of both packages (W)")
    axes.set_ylim(0, None)
    _hours(axes, len(record.hourly_qps))
    _key(axes, record, [Line2D([], [], color=INK, linestyle=(0, (2, 1.4)), linewidth=1.1, label="best static setting")])
    label_ends(axes, [end for kind, end in ends if kind != "bound"])
    return figure


def draw_margin(record: DayRecord) -> Figure:
    """How far latency stayed below the SLO's limit, a panel a configuration; what missed it is red, below the line."""
    slo = Slo.parse(record.slo)
    runs = [run for run in record.runs if run.kind != "bound"]
    figure, panels = _day_figure(0.9 + 0.8 * len(runs), rows=len(runs))

    def margin(window: LedgerWindow) -> float:
        if window.latency_us is None:
            return _LEAST_MARGIN
        return max(100.0 * (1.0 - window.latency_us / slo.limit_us), _LEAST_MARGIN)

    for axes, run in zip(panels, runs, strict=True):
        axes.axhline(0.0, color=SLO_COLOUR, linewidth=1.2)
        _draw_run(axes, run, margin)
        over = [w for w in run.windows if not w.meets_slo]
        axes.plot(
            [_middle(w) for w in over], [margin(w) for w in over], linestyle="none", marker="v", markersize=4.5,
            markeredgewidth=0, color=SLO_COLOUR, zorder=5,
        )  # fmt: skip
        axes.set_ylim(_LEAST_MARGIN - 8.0, 100.0)
        axes.set_ylabel("margin (%)")
        axes.annotate(
            run.label, (1.0, 0.5), xycoords="axes fraction", xytext=(6, 0), textcoords="offset points", va="center",
            fontsize=8.5, annotation_clip=False,
        )  # fmt: skip
    _hours(panels[-1], len(record.hourly_qps))
    missed = Line2D([], [], color=SLO_COLOUR, linestyle="none", marker="v", markersize=4.5, label=f"misses {slo}")
    _key(panels[0], record, [missed])
    return figure


def draw_settings(record: DayRecord) -> Figure:
    """What the controllers held: frequency above, interrupt delay below."""
    figure, (above, below) = _day_figure(3.9, rows=2)
    _draw_knob(above, record, FREQ_MHZ, scale=1e-3)
    _draw_knob(below, record, RX_USECS, scale=1.0)
    above.set_ylabel("frequency (GHz)")
    below.set_ylabel("ITR-delay (us)")
    above.set_xlim(0, len(record.hourly_qps))
    _hours(below, len(record.hourly_qps))
    return figure


def _draw_knob(axes: Axes, record: DayRecord, knob: str, *, scale: float) -> None:
    """One knob of every controller that sets it."""

    def value(window: LedgerWindow) -> float | None:
        held = (window.setting or {}).get(knob)
        return None if held is None or isinstance(held, str) else float(held) * scale

    ends = []
    for run in record.runs:
        held = [w for w in run.windows if w.phase == "hold" and value(w) is not None]
        if run.kind == "search" and held:
            ends.append(_draw_windows(axes, run, held, lambda w: value(w) or 0.0))
    low, high = axes.get_ylim()
    axes.set_ylim(max(0.0, low - 0.12 * (high - low)), high + 0.12 * (high - low))
    label_ends(axes, ends, gap=0.15)


def draw_energy(record: DayRecord) -> Figure:
    """Energy of the day, a bar a configuration; the saving is written at its end."""
    rows = summarize(record)
    figure, (axes,) = new_figure((COLUMN_WIDE[0], 0.55 + 0.32 * len(rows)))
    kinds = {run.id: run.kind for run in record.runs}
    for y, row in enumerate(rows):
        colour, bound = COLOURS.get(row.id, DEFAULT_COLOUR), kinds[row.id] == "bound"
        axes.barh(
            y, row.energy_kwh, height=0.68, facecolor="none" if bound else colour, edgecolor=colour,
            linewidth=1.2 if bound else 0, linestyle=(0, (3, 1.5)) if bound else "-",
        )  # fmt: skip
        saving = "" if kinds[row.id] == "default" else f"\N{EN SPACE}{_change(row.saving)}"
        axes.annotate(
            f"{row.energy_kwh:.2f} kWh{saving}", (row.energy_kwh, y), xytext=(4, 0), textcoords="offset points",
            va="center", color=INK, fontsize=8.5,
        )  # fmt: skip
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlim(0, max(row.energy_kwh for row in rows) * 1.32)
    axes.set_xlabel(f"energy of {len(record.hourly_qps)} hours, trials included (kWh)")
    return figure


def _change(saving: float) -> str:
    return f"\N{MINUS SIGN}{saving:.1%}" if saving >= 0 else f"+{-saving:.1%}"


def _draw_run(axes: Axes, run: RunRecord, value: Callable[[LedgerWindow], float]) -> EndLabel:
    """What was held as a stepped line, trials as dots, fall-backs after a breach as triangles."""
    end = _draw_windows(axes, run, [w for w in run.windows if w.phase in {"default", "hold"}], value)
    for phase, marker, size in (("trial", "o", 2.8), ("fall-back", "^", 4.5)):
        windows = [w for w in run.windows if w.phase == phase]
        axes.plot(
            [_middle(w) for w in windows], [value(w) for w in windows],
            linestyle="none", marker=marker, markersize=size, markeredgewidth=0, color=end.colour, alpha=0.8,
        )  # fmt: skip
    return end


def _middle(window: LedgerWindow) -> float:
    return (window.start_s + window.duration_s / 2) / HOUR_S


def _draw_windows(
    axes: Axes, run: RunRecord, windows: list[LedgerWindow], value: Callable[[LedgerWindow], float]
) -> EndLabel:
    colour = COLOURS.get(run.id, DEFAULT_COLOUR)
    edges = [x for w in windows for x in (w.start_s / HOUR_S, w.end_s / HOUR_S)]
    levels = [y for w in windows for y in (value(w), value(w))]
    bound = run.kind == "bound"
    axes.plot(edges, levels, color=colour, linestyle=(0, (2, 1.4)) if bound else "-", linewidth=1.1 if bound else 1.6)
    return EndLabel(levels[-1] if levels else 0.0, run.label, colour)


def _key(axes: Axes, record: DayRecord, more: Sequence[Line2D]) -> None:
    """What the marks mean, above the axes."""
    phases = {w.phase for run in record.runs for w in run.windows}
    marks = list(more)
    if "trial" in phases:
        marks.append(Line2D([], [], color=INK, linestyle="none", marker="o", markersize=3.2, label="trial"))
    if "fall-back" in phases:
        marks.append(Line2D([], [], color=INK, linestyle="none", marker="^", markersize=4.5, label="fall-back"))
    axes.legend(
        handles=marks, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=len(marks), borderaxespad=0.2,
        handletextpad=0.4, columnspacing=1.4,
    )  # fmt: skip


def _hours(axes: Axes, hours: int) -> None:
    step = next(s for s in _TICK_HOURS if hours / s <= 8 or s == _TICK_HOURS[-1])
    axes.set_xlim(0, hours)
    axes.set_xticks(range(0, hours + 1, step))
    axes.set_xlabel("hour of the day" if hours <= 24 else "hour")
