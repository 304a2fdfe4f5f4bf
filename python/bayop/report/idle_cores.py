"""How each core spends its time over load, with and without the balancer of awakened requests: a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bayop.experiments.idle.record import CoreUse, used_states
from bayop.report.style import COLOUR_MAP, INK, bayop_style
from bayop.report.svg import Drawing
from bayop.units import format_qps

OPERATING: Final = "operating"
"""What a core does when it is in no idle state."""

_ROWS: Final = {"none": "without the balancer", "yawn": "with the balancer"}
_MOST_TICKS: Final = 6


def drawing(uses: Sequence[CoreUse], server: str) -> Drawing:
    """The figure with the words that stand for it.

    Args:
        uses: At each load, without the balancer and with it.
        server: What was simulated, for people.
    """
    return Drawing(
        name="idle-cores",
        title=_title(uses),
        description="Share of time that each core operates and that it spends in each idle state, over load: above "
        "without the balancer of awakened requests, below with it.",
        caption=f"Simulated: {server}. Of the server's cores, those that serve; the first one below.",
        figure=_draw(uses),
    )


def _title(uses: Sequence[CoreUse]) -> str:
    """What to see: the first and the last core at the lowest load."""
    least_qps = min(use.qps for use in uses)
    shares = {use.balancer: use.operating for use in uses if use.qps == least_qps}
    first, last = ([shares[balancer][core] for balancer in _ROWS] for core in (0, -1))
    return (
        f"What the balancer gathers: at {format_qps(least_qps)} requests/s the first core operates {first[0]:.1%} of "
        f"its time without it and {first[1]:.1%} with it, the last {last[0]:.1%} and {last[1]:.1%}"
    )


@bayop_style()
def _draw(uses: Sequence[CoreUse]) -> Figure:
    """A row with and one without the balancer, a column for operating and for each state."""
    columns = [OPERATING, *used_states(uses)]
    figure = Figure(figsize=(1.2 + 1.45 * len(columns), 4.2), layout="constrained")
    grid = figure.subplots(len(_ROWS), len(columns), sharex=True, sharey=True, squeeze=False)
    colours = ScalarMappable(Normalize(0.0, 100.0), COLOUR_MAP)
    for row, (balancer, label) in zip(grid, _ROWS.items(), strict=True):
        some = sorted((use for use in uses if use.balancer == balancer), key=lambda use: use.qps)
        for axes, column in zip(row, columns, strict=True):
            shares = [use.operating if column == OPERATING else use.residency[column] for use in some]
            axes.pcolormesh(100.0 * np.array(shares).T, cmap=colours.cmap, norm=colours.norm)
            axes.grid(visible=False)
        row[0].set_ylabel(f"{label}\ncore")
    for axes, column in zip(grid[0], columns, strict=True):
        axes.set_title(column)
    for axes in grid[-1]:
        _tick(axes, sorted({use.qps for use in uses}))
    cores = len(uses[0].operating)
    grid[0, 0].yaxis.set_major_locator(MaxNLocator(6, integer=True))
    places = [core - 1 for core in grid[0, 0].get_yticks() if 1 <= core <= cores]
    grid[0, 0].set_yticks([place + 0.5 for place in places], [f"{place + 1:g}" for place in places])
    figure.supxlabel("load (1,000 requests/s)", fontsize=9, color=INK)
    bar = figure.colorbar(colours, ax=list(grid.flat), label="share of time (%)", pad=0.02, aspect=40, fraction=0.03)
    bar.outline.set_visible(False)
    return figure


def _tick(axes: Axes, loads: Sequence[float]) -> None:
    """Names some of the columns, which are as wide as each other whatever their loads."""
    every = -(-len(loads) // _MOST_TICKS)
    places = range(0, len(loads), every)
    axes.set_xticks([place + 0.5 for place in places], [f"{loads[place] / 1e3:g}" for place in places])
