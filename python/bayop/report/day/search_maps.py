"""Searches as paths over the map that an exhaustive sweep measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure, SubFigure
from numpy.typing import NDArray

from bayop.experiments.day.record import DayRecord, MapRecord, RunRecord, SearchRecord
from bayop.report.search_path import draw_paths
from bayop.report.style import COLOUR_MAP, FAINT, INK, SLO_COLOUR
from bayop.slo import Slo
from bayop.space import AUTO, FREQ_MHZ, RX_USECS, Setting
from bayop.units import HOUR_S

_COLUMNS: Final = 4

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Lanes:
    """Where a knob that is left to the operating system is drawn: beside the map, beyond its axes."""

    rx_usecs: float
    freq_ghz: float

    def place(self, setting: Setting) -> tuple[float, float]:
        """Coordinates of a setting: ITR-delay in us, frequency in GHz."""
        rx_usecs, freq_mhz = setting[RX_USECS], setting[FREQ_MHZ]
        return (
            self.rx_usecs if rx_usecs == AUTO else float(rx_usecs),
            self.freq_ghz if freq_mhz == AUTO else float(freq_mhz) / 1000.0,
        )


def draw_first_search(record: DayRecord, run: RunRecord) -> Figure | None:
    """The run's first search, large; None without a search or a map of its hour."""
    map_ = record.map_at(run.os, 0)
    if map_ is None or not run.searches:
        return None
    figure = Figure(figsize=(5.4, 3.6))
    figure.set_layout_engine("constrained", h_pad=0.1)  # room for a badge in the corner
    axes = figure.subplots()
    mesh = _draw_record(axes, map_, Slo.parse(record.slo), _scale([map_]))
    _label_axes(axes)
    colour_bar(figure, [axes], mesh)
    figure.draw_without_rendering()
    _draw_searches(axes, _of_hour(run, 0)[:1], _lanes(map_), size=9.0)
    return figure


def draw_searches(record: DayRecord, run: RunRecord) -> Figure | None:
    """Every hour's searches of a run, a small map each; None without maps."""
    maps = [m for m in record.maps if m.os == run.os]
    if not maps:
        return None
    rows = math.ceil(len(maps) / _COLUMNS)
    figure = Figure(figsize=(7.4, 0.7 + 1.45 * rows), layout="constrained")
    grid = figure.subplots(rows, _COLUMNS, sharex=True, sharey=True, squeeze=False)
    scale, slo = _scale(maps), Slo.parse(record.slo)
    auto = {knob for s in run.searches for t in s.trials for knob, value in t.setting.items() if value == AUTO}
    mesh = None
    for axes, map_ in zip(grid.flat, maps, strict=False):
        mesh = _draw_record(axes, map_, slo, scale)
        axes.set_title(f"{map_.hour:02d}:00, {map_.qps / 1000:.0f}K/s", fontsize=7.5, pad=2.5)
        _widen(axes, map_, auto)
    for axes in grid.flat[len(maps) :]:
        axes.set_axis_off()
    for axes in grid.flat:
        axes.tick_params(labelsize=7)
    figure.supxlabel("ITR-delay (us)", fontsize=8.5, color=INK)
    figure.supylabel("frequency (GHz)", fontsize=8.5, color=INK)
    if mesh is not None:
        colour_bar(figure, list(grid.flat), mesh)
    figure.draw_without_rendering()
    for axes, map_ in zip(grid.flat, maps, strict=False):
        _draw_searches(axes, _of_hour(run, map_.hour), _lanes(map_), size=6.4)
    return figure


def draw_map(axes: Axes, x: Array, y: Array, power_w: Array, latency_us: Array, *, slo: Slo) -> QuadMesh:
    """Power as colours over two knobs; what misses the SLO is hatched.

    Args:
        axes: Gets the limits of the map.
        x: The columns' knob.
        y: The rows' knob.
        power_w: Of every row and column.
        latency_us: Likewise, at the SLO's quantile.
        slo: Where latency has to stay below.
    """
    mesh = axes.pcolormesh(x, y, power_w, shading="gouraud", cmap=COLOUR_MAP, rasterized=True)
    over = np.log(latency_us / slo.limit_us)
    if over.max() > 0 > over.min():
        axes.contour(x, y, over, levels=[0.0], colors=[SLO_COLOUR], linewidths=1.4)
        axes.contourf(x, y, over, levels=[0.0, over.max() + 1], colors="none", hatches=["////"])
        axes.collections[-1].set(edgecolor=SLO_COLOUR, linewidth=0)
    axes.set_xlim(x[0], x[-1])
    axes.set_ylim(y[0], y[-1])
    axes.grid(visible=False)
    return mesh


def _draw_record(axes: Axes, map_: MapRecord, slo: Slo, scale: tuple[float, float]) -> QuadMesh:
    x, y = np.array(map_.rx_usecs), np.array(map_.freq_mhz) / 1000.0
    mesh = draw_map(axes, x, y, np.array(map_.power_w).T, np.array(map_.latency_us).T, slo=slo)
    mesh.set_clim(*scale)
    return mesh


def _draw_searches(axes: Axes, searches: Sequence[SearchRecord], lanes: Lanes, *, size: float) -> None:
    held = next((s.setting for s in reversed(searches) if s.setting is not None), None)
    paths = [[lanes.place(t.setting) for t in search.trials] for search in searches]
    draw_paths(axes, paths, None if held is None else lanes.place(held), size=size)


def _of_hour(run: RunRecord, hour: int) -> list[SearchRecord]:
    return [s for s in run.searches if int(s.start_s // HOUR_S) == hour]


def _lanes(map_: MapRecord) -> Lanes:
    low, high = map_.rx_usecs[0], map_.rx_usecs[-1]
    bottom, top = map_.freq_mhz[0] / 1000.0, map_.freq_mhz[-1] / 1000.0
    return Lanes(rx_usecs=low - 0.1 * (high - low), freq_ghz=top + 0.1 * (top - bottom))


def _widen(axes: Axes, map_: MapRecord, auto: set[str]) -> None:
    """Makes room for the lanes of knobs on `auto`, and names them on the axes."""
    lanes, left = _lanes(map_), map_.rx_usecs[0]
    top = map_.freq_mhz[-1] / 1000.0
    if RX_USECS in auto:
        edge = 2 * lanes.rx_usecs - left
        axes.axvspan(edge, left, color=FAINT, alpha=0.5, linewidth=0)
        ticks = [t for t in axes.get_xticks() if left < t <= map_.rx_usecs[-1]]
        axes.set_xticks([lanes.rx_usecs, *ticks], ["auto", *(f"{t:g}" for t in ticks)])
        axes.set_xlim(edge, map_.rx_usecs[-1])
    if FREQ_MHZ in auto:
        edge = 2 * lanes.freq_ghz - top
        axes.axhspan(top, edge, color=FAINT, alpha=0.5, linewidth=0)
        ticks = [t for t in axes.get_yticks() if map_.freq_mhz[0] / 1000.0 <= t < top]
        axes.set_yticks([*ticks, lanes.freq_ghz], [*(f"{t:g}" for t in ticks), "auto"])
        axes.set_ylim(map_.freq_mhz[0] / 1000.0, edge)


def _scale(maps: Sequence[MapRecord]) -> tuple[float, float]:
    values = np.concatenate([np.ravel(m.power_w) for m in maps])
    return float(values.min()), float(values.max())


def _label_axes(axes: Axes) -> None:
    axes.set_xlabel("ITR-delay, nic.rx_usecs (us)")
    axes.set_ylabel("frequency, cpu.freq_mhz (GHz)")


def colour_bar(figure: Figure | SubFigure, axes: Sequence[Axes], mesh: QuadMesh) -> None:
    """The scale of a map's colours."""
    bar = figure.colorbar(mesh, ax=list(axes), label="power (W)", pad=0.02, aspect=40, fraction=0.03)
    bar.outline.set_visible(False)
