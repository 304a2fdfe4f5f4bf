"""Figures of carbon: where a request's comes from, and how it falls while a machine works off its making."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayop.carbon.compare import Comparison
from bayop.carbon.intensity import MONTHS_PER_YEAR, PER_MILLION, Intensity, intensity_by_month
from bayop.report.style import COLUMN_WIDE, SERIES, EndLabel, label_ends, new_figure, os_colour

# Sources differ in hatching as well, and stacks in their lines.
_SOURCES: Final[tuple[tuple[str, str, str, Callable[[Intensity], float]], ...]] = (
    ("embodied", SERIES[1][0], "....", lambda i: i.embodied_mg),
    ("operational", SERIES[0][0], "", lambda i: i.operational_mg),
    ("network", SERIES[2][0], "///", lambda i: i.network_mg),
)
_DASHES: Final = ("-", "--", "-.", ":")
_UNIT: Final = "mg CO2e / million requests"


def draw_sources(comparisons: Sequence[Comparison]) -> Figure:
    """A bar for each stack, stacked by source: all of it, and the server's part alone, which the network dwarfs."""
    width, _ = COLUMN_WIDE
    figure = Figure(figsize=(width, 1.7 + 0.33 * len(comparisons)), layout="constrained")
    whole, server = figure.subplots(1, 2, sharey=True)
    _draw_bars(whole, comparisons, len(_SOURCES))
    _draw_bars(server, comparisons, 2)
    whole.set_title("all")
    server.set_title("the server's part")
    whole.set_yticks(range(len(comparisons)), [f"{c.stack.app}\n{c.stack.name}" for c in comparisons])
    whole.invert_yaxis()
    figure.supxlabel(_UNIT, fontsize=9.0)
    handles, labels = whole.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), handletextpad=0.4, columnspacing=1.2)
    return figure


def draw_months(comparisons: Sequence[Comparison], lifetime_years: float) -> Figure:
    """The carbon intensity of all work so far, month by month: with the network, and the server's part alone."""
    width, height = COLUMN_WIDE
    figure, (whole, server) = new_figure((width, 1.5 * height), rows=2)
    # A line has two ends, however short the life.
    months = range(1, max(int(lifetime_years * MONTHS_PER_YEAR), 2) + 1)
    lines = _lines([c.stack.name for c in comparisons])
    curves = [intensity_by_month(c.stack, c.grid, months) for c in comparisons]
    for axes, value, label in (
        (whole, _total, "all"),
        (server, _server, "the server's part"),
    ):
        ends = []
        for comparison, curve, (colour, line) in zip(comparisons, curves, lines, strict=True):
            values = [value(i) * PER_MILLION for i in curve]
            axes.plot(months, values, color=colour, linestyle=line)
            ends.append(EndLabel(values[-1], comparison.stack.name, colour))
        axes.set_xlim(1, months[-1])
        axes.set_ylim(bottom=0.0)
        axes.set_title(label)
        axes.set_ylabel("mg CO2e /\nmillion requests")
        label_ends(axes, ends, gap=0.13)
    server.set_xlabel("months in use")
    return figure


def _draw_bars(axes: Axes, comparisons: Sequence[Comparison], sources: int) -> None:
    rows = range(len(comparisons))
    left = [0.0] * len(comparisons)
    for name, colour, hatch, value in _SOURCES[:sources]:
        widths = [value(c.intensity) * PER_MILLION for c in comparisons]
        axes.barh(
            rows,
            widths,
            left=left,
            height=0.62,
            color=colour,
            hatch=hatch,
            edgecolor="white",
            linewidth=0.0,
            label=name,
        )
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.grid(axis="y", visible=False)


def _total(carbon: Intensity) -> float:
    return carbon.total_mg


def _server(carbon: Intensity) -> float:
    return carbon.without_network_mg


def _lines(names: Sequence[str]) -> list[tuple[str, str]]:
    """Colour and dashes of each stack: its operating system's colour where its name holds one."""
    others = (colour for colour, _ in cycle(SERIES))
    return [(os_colour(name) or next(others), dashes) for name, dashes in zip(names, cycle(_DASHES), strict=False)]
